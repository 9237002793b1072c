//! Live progress on stderr: one moving line for each run on a terminal, plain lines otherwise.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use jurat_core::untrusted::escape;

use super::printer::{Look, Printer};
use super::verify::look_of;
use crate::engine::Progress;

/// Live progress.
#[derive(Debug)]
pub(super) struct Live {
    printer: Printer,
    talk: bool,
    many: bool,
    bars: MultiProgress,
    state: Mutex<HashMap<usize, Run>>,
}

#[derive(Debug)]
struct Run {
    name: String,
    done: usize,
    criteria: usize,
    bar: Option<ProgressBar>,
}

impl Live {
    pub(super) fn new(printer: Printer, runs: usize, talk: bool) -> Self {
        let target = if talk && printer.is_terminal() {
            ProgressDrawTarget::stderr_with_hz(15)
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            printer,
            talk,
            many: runs > 1,
            bars: MultiProgress::with_draw_target(target),
            state: Mutex::default(),
        }
    }

    /// Takes one piece of progress.
    pub(super) fn tell(&self, progress: Progress) {
        if !self.talk {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::BrowserReady { product, after } => {
                self.line(&self.printer.paint(
                    Look::Dim,
                    &format!("{} ready after {} ms", escape(&product, 80), after.as_millis()),
                ));
            }
            Progress::RunBegun { run, name, criteria } => {
                let name = escape(&name, 100);
                let bar = self.printer.is_terminal().then(|| self.bar(criteria));
                state.insert(
                    run,
                    Run {
                        name,
                        done: 0,
                        criteria,
                        bar,
                    },
                );
            }
            Progress::CriterionBegun {
                run,
                id,
                viewport,
                expected,
            } => {
                if let Some(Run {
                    name, bar: Some(bar), ..
                }) = state.get(&run)
                {
                    bar.set_message(format!("{name}  {id} ({viewport})  {}", escape(&expected, 60)));
                }
            }
            Progress::CriterionEnded {
                run,
                id,
                viewport,
                outcome,
            } => {
                let Some(entry) = state.get_mut(&run) else { return };
                entry.done += 1;
                match &entry.bar {
                    Some(bar) => bar.inc(1),
                    None if !self.many => {
                        let word = self.printer.paint(look_of(outcome), outcome.as_str());
                        self.line(&format!("  {}/{} {id} ({viewport}) {word}", entry.done, entry.criteria));
                    }
                    None => {}
                }
            }
            Progress::RunEnded { run, verdict, took, .. } => {
                let Some(entry) = state.remove(&run) else { return };
                if let Some(bar) = entry.bar {
                    bar.finish_and_clear();
                }
                if self.many {
                    let word = self.printer.paint(look_of(verdict), &format!("{verdict:<12}"));
                    self.line(&format!(
                        "{word} {} {}",
                        entry.name,
                        self.printer.paint(Look::Dim, &seconds(took))
                    ));
                }
            }
            Progress::Held { id, .. } => {
                self.line(&format!("stopped at {id} with the browser open; press Ctrl-C to go on"));
            }
        }
    }

    /// Takes everything that moves away.
    pub(super) fn finish(&self) {
        let _ = self.bars.clear();
    }

    fn bar(&self, criteria: usize) -> ProgressBar {
        let style = ProgressStyle::with_template("{spinner} {pos}/{len} {elapsed:>3} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new(criteria as u64).with_style(style);
        let bar = self.bars.add(bar);
        bar.enable_steady_tick(Duration::from_millis(100));
        bar
    }

    fn line(&self, text: &str) {
        self.bars.suspend(|| self.printer.say(text));
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}
