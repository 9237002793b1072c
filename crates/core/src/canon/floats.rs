//! Finds floats that JSON cannot say, which `serde_json` writes as `null` in silence.
//!
//! A serializer that writes nothing. Finite floats pass here: the tree shows them, and where they stand.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use super::CanonError;

/// Refuses a value that holds a NaN or an infinity.
pub(super) fn refuse<T: Serialize + ?Sized>(value: &T) -> Result<(), CanonError> {
    value.serialize(Look).map_err(|found| match found {
        Found::NotFinite(value) => CanonError::NotFinite { value },
        Found::Other(message) => CanonError::Serialize(ser::Error::custom(message)),
    })
}

#[derive(Debug)]
enum Found {
    NotFinite(String),
    Other(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }
}

#[derive(Clone, Copy)]
struct Look;

/// Values without anything in them.
macro_rules! leaf {
    ($($method:ident($($kind:ty),*);)*) => {
        $(fn $method(self, $(_: $kind),*) -> Result<(), Found> {
            Ok(())
        })*
    };
}

impl Serializer for Look {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    leaf! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    fn serialize_f32(self, value: f32) -> Result<(), Found> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Found> {
        if value.is_finite() {
            Ok(())
        } else {
            Err(Found::NotFinite(value.to_string()))
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), Found> {
        Ok(())
    }
}

/// Values with values in them.
macro_rules! within {
    ($($kind:ident $method:ident($($key:ty)?);)*) => {
        $(impl ser::$kind for Look {
            type Ok = ();
            type Error = Found;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Found> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

within! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStruct serialize_field(&'static str);
    SerializeStructVariant serialize_field(&'static str);
}

impl ser::SerializeMap for Look {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Found> {
        Ok(())
    }
}
