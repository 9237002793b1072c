//! Progress: what a run tells while it goes. Verdicts never listen to it.

use std::time::Duration;

use jurat_core::outcome::Answer;
use jurat_core::verdict::CriterionResult;

/// Something that a person watching wants to know.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The browser answers.
    BrowserReady {
        /// Product and version.
        product: String,
        /// Since the start.
        after: Duration,
    },
    /// A run of a contract began.
    RunBegun {
        /// Which, from 0.
        run: usize,
        /// The contract's name.
        name: String,
        /// Criteria over all viewports.
        criteria: usize,
    },
    /// A criterion is being looked at.
    CriterionBegun {
        /// Which run.
        run: usize,
        /// Its id.
        id: String,
        /// The viewport.
        viewport: String,
        /// What is expected.
        expected: String,
    },
    /// A criterion ended.
    CriterionEnded {
        /// Which run.
        run: usize,
        /// Its id.
        id: String,
        /// The viewport.
        viewport: String,
        /// What became of it, as far as is known then.
        outcome: Answer,
    },
    /// A run of a contract ended.
    RunEnded {
        /// Which run.
        run: usize,
        /// Its verdict.
        verdict: Answer,
        /// How long it took.
        took: Duration,
        /// Its criteria.
        criteria: Vec<CriterionResult>,
    },
    /// The run stopped at a criterion, with the browser open (`debug`).
    Held {
        /// Which run.
        run: usize,
        /// The criterion's id.
        id: String,
    },
}

/// Where progress goes.
pub type Listener = std::sync::Arc<dyn Fn(Progress) + Send + Sync>;
