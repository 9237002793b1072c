//! The key of a loopback server's certificate, read once at start.
//!
//! An https target on loopback has a certificate that nobody signed. The browser is told to accept exactly the key that the
//! server showed when the run began, and no other. Never done for an address that is not loopback.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use webpki::EndEntityCert;

/// Why a key could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// Only loopback servers are pinned.
    #[error("{0} is not a loopback address")]
    NotLoopback(SocketAddr),
    /// The host is no name that TLS can ask for.
    #[error("the host is no server name")]
    Name(#[source] InvalidDnsNameError),
    /// The server could not be reached or closed.
    #[error("failed to talk to {0}")]
    Io(SocketAddr, #[source] io::Error),
    /// What answered does not complete a TLS handshake.
    #[error("failed to complete a TLS handshake with {0}")]
    Tls(SocketAddr, #[source] rustls::Error),
    /// The certificate cannot be read.
    #[error("the certificate of {0} cannot be read")]
    Certificate(SocketAddr),
}

/// The base64 of the SHA-256 of the public key (SubjectPublicKeyInfo) that the server at `address` proves to hold, as
/// Chromium's `--ignore-certificate-errors-spki-list` takes it.
///
/// # Errors
/// See [`PinError`].
pub async fn spki_pin(address: SocketAddr, host: &str, limit: Duration) -> Result<String, PinError> {
    if !address.ip().is_loopback() {
        return Err(PinError::NotLoopback(address));
    }
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(PinError::Name)?;
    tokio::task::spawn_blocking(move || read(address, name, limit))
        .await
        .unwrap_or_else(|_| Err(PinError::Certificate(address)))
}

fn read(address: SocketAddr, name: ServerName<'static>, limit: Duration) -> Result<String, PinError> {
    let provider = Arc::new(ring::default_provider());
    let shown = Arc::new(Shown {
        provider: Arc::clone(&provider),
        certificate: Mutex::default(),
    });
    let verifier: Arc<dyn ServerCertVerifier> = Arc::<Shown>::clone(&shown);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| PinError::Tls(address, error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let mut connection =
        ClientConnection::new(Arc::new(config), name).map_err(|error| PinError::Tls(address, error))?;
    let io = |error: io::Error| match error.downcast::<rustls::Error>() {
        Ok(tls) => PinError::Tls(address, tls),
        Err(error) => PinError::Io(address, error),
    };
    let mut socket = TcpStream::connect_timeout(&address, limit).map_err(io)?;
    socket.set_read_timeout(Some(limit)).map_err(io)?;
    socket.set_write_timeout(Some(limit)).map_err(io)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(io)?;
    }
    connection.send_close_notify();
    // It has shown its key; whether it hears the goodbye does not matter.
    let _ = connection.write_tls(&mut socket).and_then(|_| socket.flush());
    let certificate = shown.certificate.lock().unwrap_or_else(PoisonError::into_inner).take();
    let certificate = certificate.ok_or(PinError::Certificate(address))?;
    let parsed = EndEntityCert::try_from(&certificate).map_err(|_| PinError::Certificate(address))?;
    Ok(STANDARD.encode(Sha256::digest(parsed.subject_public_key_info().as_ref())))
}

/// Accepts any certificate and keeps it. The server must still prove that it holds the key.
#[derive(Debug)]
struct Shown {
    provider: Arc<CryptoProvider>,
    certificate: Mutex<Option<CertificateDer<'static>>>,
}

impl ServerCertVerifier for Shown {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let kept = end_entity.clone().into_owned();
        *self.certificate.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpListener;

    use rcgen::{CertifiedKey, PublicKeyData, generate_simple_self_signed};
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_self_signed_server_is_pinned_by_its_key() {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut socket, _) = listener.accept().unwrap();
                let mut connection = ServerConnection::new(Arc::new(config.clone())).unwrap();
                while connection.is_handshaking() {
                    connection.complete_io(&mut socket).unwrap();
                }
            }
        });
        let pin = spki_pin(address, "localhost", LIMIT).await.unwrap();
        assert_eq!(
            pin,
            STANDARD.encode(Sha256::digest(signing_key.subject_public_key_info()))
        );
        assert_eq!(spki_pin(address, "127.0.0.1", LIMIT).await.unwrap(), pin);
        server.join().unwrap();
    }

    #[tokio::test]
    async fn what_cannot_be_pinned() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let plain = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        assert!(matches!(
            spki_pin(address, "localhost", LIMIT).await,
            Err(PinError::Tls(..) | PinError::Io(..))
        ));
        plain.join().unwrap();
        assert!(matches!(
            spki_pin(address, "localhost", LIMIT).await,
            Err(PinError::Io(..))
        ));
        let far = "192.0.2.1:443".parse().unwrap();
        assert!(matches!(
            spki_pin(far, "h.example", LIMIT).await,
            Err(PinError::NotLoopback(_))
        ));
        assert!(matches!(spki_pin(address, "a b", LIMIT).await, Err(PinError::Name(_))));
    }
}
