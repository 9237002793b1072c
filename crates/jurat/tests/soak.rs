//! What only many runs show: processes that stay, bundles that tear, resources that creep, an honest app that fails once.
//!
//! Each has a short form that every test run makes. `./x soak` makes the long one, by the variables that are named beside each test; its
//! results stand in docs/reliability.md.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code, reason = "shared with the tests of the engine")]
#[path = "engine/kit.rs"]
mod kit;
#[allow(dead_code, reason = "shared with the tests of the engine")]
#[path = "engine/processes.rs"]
mod processes;

#[path = "soak/creep.rs"]
mod creep;
#[path = "soak/kills.rs"]
mod kills;
#[path = "soak/load.rs"]
mod load;

/// How often, by a variable or as a short form.
fn times(variable: &str, short: usize) -> usize {
    std::env::var(variable).map_or(short, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text}"))
    })
}

const PAGE: &str = "<!doctype html><title>Notes</title><link rel=icon href=data:,><h1>Notes</h1>
<label>Name <input></label> <button>Save</button><p role=status></p><script>
const say = (text) => { document.querySelector('p').textContent = text; };
document.querySelector('button').onclick = () => { localStorage.setItem('name', document.querySelector('input').value); say('Saved'); };
if (localStorage.getItem('name')) say(`Hello ${localStorage.getItem('name')}`);
</script>";

const REST: &str = "viewports: [{ name: wide, width: 900, height: 600 }]
steps:
  - navigate: /
  - fill: { label: Name, value: Ada }
  - click: { role: button, name: Save }
  - expect: { visible: { text: Saved } }
  - reload: {}
  - expect: { visible: { text: Hello Ada } }
expect:
  - { title_equals: Notes }
  - { console_clean: {} }
capture: { screenshot: always }";
