//! The page script.

/// The page script, to run in the isolated world of every frame at document start. It leaves one object, `__jurat`, in that world, and running
/// it twice changes nothing.
pub fn script() -> &'static str {
    concat!(
        "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"__jurat\")) return;\n",
        include_str!("script/natives.js"),
        include_str!("script/tree.js"),
        include_str!("script/text.js"),
        include_str!("script/roles.js"),
        include_str!("script/layout.js"),
        include_str!("script/point.js"),
        include_str!("script/find.js"),
        include_str!("script/proof.js"),
        include_str!("script/paint.js"),
        include_str!("script/main.js"),
        "})();\n",
    )
}
