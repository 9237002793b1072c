//! Permissions that a contract can grant.

/// Names of the Permissions API, each with its `Browser.PermissionType` of the DevTools protocol.
pub const PERMISSIONS: &[(&str, &str)] = &[
    ("accelerometer", "sensors"),
    ("ambient-light-sensor", "sensors"),
    ("background-fetch", "backgroundFetch"),
    ("background-sync", "backgroundSync"),
    ("camera", "videoCapture"),
    ("clipboard-read", "clipboardReadWrite"),
    ("clipboard-write", "clipboardSanitizedWrite"),
    ("display-capture", "displayCapture"),
    ("geolocation", "geolocation"),
    ("gyroscope", "sensors"),
    ("idle-detection", "idleDetection"),
    ("keyboard-lock", "keyboardLock"),
    ("local-fonts", "localFonts"),
    ("magnetometer", "sensors"),
    ("microphone", "audioCapture"),
    ("midi", "midi"),
    ("midi-sysex", "midiSysex"),
    ("nfc", "nfc"),
    ("notifications", "notifications"),
    ("payment-handler", "paymentHandler"),
    ("periodic-background-sync", "periodicBackgroundSync"),
    ("persistent-storage", "durableStorage"),
    ("pointer-lock", "pointerLock"),
    ("screen-wake-lock", "wakeLockScreen"),
    ("storage-access", "storageAccess"),
    ("top-level-storage-access", "topLevelStorageAccess"),
    ("window-management", "windowManagement"),
];

/// The DevTools name of a permission.
pub fn permission_type(name: &str) -> Option<&'static str> {
    PERMISSIONS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, devtools)| *devtools)
}
