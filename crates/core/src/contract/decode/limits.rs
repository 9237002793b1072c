//! `budget` and `capture`.

use super::cursor::{Cursor, Problems};
use super::number::duration;
use crate::contract::{Budget, Capture, Millis, Screenshot};

/// The budget. The default of `step` is 10 s, or `wall` where that is less.
pub(super) fn budget(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Budget> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, "write: budget: { wall: 120s, step: 10s }")?;
    let default = Budget::default();
    let wall = fields
        .take("wall")
        .map_or(Some(default.wall), |c| duration(&c, problems));
    let written_step = fields.take("step");
    let step = match &written_step {
        Some(c) => duration(c, problems),
        None => wall.map(|Millis(wall)| Millis(wall.min(default.step.0))),
    };
    if let (Some(wall), Some(step), Some(c)) = (wall, step, &written_step)
        && step > wall
    {
        let _: Option<()> = c.wrong(
            problems,
            format!("a step of {step} is longer than the whole run of {wall}"),
            format!("write at most {wall}, or a longer wall"),
        );
    }
    let judge_rounds = fields
        .take("judge_rounds")
        .map_or(Some(default.judge_rounds), |c| c.unsigned(problems, 1, 100));
    let agent_steps = fields
        .take("agent_steps")
        .map_or(Some(default.agent_steps), |c| c.unsigned(problems, 1, 1000));
    if !fields.finish(problems, "budget", &["wall", "step", "judge_rounds", "agent_steps"]) || !problems.clean(mark) {
        return None;
    }
    Some(Budget {
        wall: wall?,
        step: step?,
        judge_rounds: judge_rounds?,
        agent_steps: agent_steps?,
    })
}

/// What is kept.
pub(super) fn capture(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Capture> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, "write: capture: { screenshot: on-failure }")?;
    let screenshot = match fields.take("screenshot") {
        Some(c) => c.choice(
            problems,
            &[
                ("never", Screenshot::Never),
                ("on-failure", Screenshot::OnFailure),
                ("always", Screenshot::Always),
            ],
        ),
        None => Some(Screenshot::default()),
    };
    if !fields.finish(problems, "capture", &["screenshot"]) || !problems.clean(mark) {
        return None;
    }
    Some(Capture {
        screenshot: screenshot?,
    })
}
