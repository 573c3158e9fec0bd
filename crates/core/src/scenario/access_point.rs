//! `[[access_point]]`: further access points on the channel.

use super::cursor::Table;
use super::defaults::LARGEST_QUEUE;
use super::error::{Checked, Mistake, Span};
use super::name::checked_name;
use super::value::nearest;
use super::{AP, AccessPoint, Ap, Enforce, Preset, Station, queue};
use crate::control::CapacityParams;
use crate::shaper::PoolRule;
use crate::units::quote;

/// Keys of `[[access_point]]`.
pub(super) const KEYS: &[&str] = &["name", "queue", "uplink_queue"];
/// Most access points in all: each has a queue for every station.
const MOST: usize = 16;

/// Those of `[[access_point]]`, and where each stands in the file.
pub(super) struct AccessPoints {
    pub(super) list: Vec<AccessPoint>,
    spans: Vec<Span>,
}

/// Reads all `[[access_point]]` tables. What they do not say is as in `[ap]`, which is `first`.
pub(super) fn access_points(root: &Table, first: &Ap, preset: Preset) -> Checked<AccessPoints> {
    const EXAMPLE: &str = "[[access_point]] with name = \"ap2\"";
    let tables = root.tables("access_point", "[[access_point]]", EXAMPLE)?.unwrap_or_default();
    if let Some(table) = tables.get(MOST - 1) {
        let problem = format!("{} access points, more than {MOST}", tables.len() + 1);
        return Err(Mistake::new(table.span(), problem, format!("write at most {MOST}, `[ap]` among them")));
    }
    let mut known = AccessPoints { list: Vec::new(), spans: Vec::new() };
    for table in &tables {
        table.allow(KEYS)?;
        let name = checked_name(table, "name = \"ap2\"")?;
        if name.value == AP {
            let problem = format!("the access point of [ap] is called `{AP}`");
            return Err(Mistake::new(&name.span, problem, "give this one a name of its own"));
        }
        if let Some(other) = known.list.iter().position(|other| other.name == name.value) {
            let problem = format!("two access points have the name `{}`", name.value);
            let mistake = Mistake::new(&name.span, problem, "give each a name of its own");
            return Err(mistake.and(&known.spans[other], "first one"));
        }
        known.list.push(AccessPoint {
            name: name.value,
            queue: if table.has("queue") { queue::spec(table, preset)? } else { first.queue },
            uplink_queue: table.within("uplink_queue", 1..=LARGEST_QUEUE, first.uplink_queue)?,
        });
        known.spans.push(name.span);
    }
    Ok(known)
}

/// Reads `ap` of a station, which is one of `more` or that of `[ap]`: its position.
pub(super) fn of_station(station: &Table, more: &[AccessPoint]) -> Checked<usize> {
    let Some(name) = station.optional::<String>("ap")? else { return Ok(0) };
    let mut names = vec![AP];
    names.extend(more.iter().map(|own| own.name.as_str()));
    names.iter().position(|own| *own == name.value).ok_or_else(|| {
        let meant = nearest(&name.value, &names).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let problem = format!("there is no access point {}", quote(&name.value));
        station.wrong("ap", problem, format!("{meant}Name an [[access_point]], or leave `ap` out to mean [ap]"))
    })
}

impl AccessPoints {
    /// Refuses access points without stations, and what is simulated for one access point only.
    pub(super) fn check(&self, root: &Table, stations: &[Station], enforce: Option<&Enforce>) -> Checked<()> {
        let Some(span) = self.spans.first() else { return Ok(()) };
        let lacks = |ap: usize| stations.iter().all(|station| station.ap != ap);
        if lacks(0) {
            let fix = "let a [[station]] leave `ap` out, or describe this access point in [ap]";
            return Err(Mistake::new(span, "no station belongs to the access point of [ap]", fix));
        }
        if let Some(alone) = (0..self.list.len()).find(|position| lacks(position + 1)) {
            let name = &self.list[alone].name;
            let fix = format!("write ap = \"{name}\" in a [[station]], or remove the access point");
            return Err(Mistake::new(&self.spans[alone], format!("no station belongs to `{name}`"), fix));
        }
        let first = root.table("ap", "[ap]")?;
        for key in ["window_cap", "uplink_limiter"] {
            if first.has(key) {
                let problem = "it is simulated with one access point only";
                return Err(first.wrong(key, problem, "remove it, or each [[access_point]]"));
            }
        }
        let Some(enforce) = enforce else { return Ok(()) };
        if enforce.vsb.pool == PoolRule::Ap && matches!(enforce.capacity, CapacityParams::Air(_)) {
            let problem = "the air of a channel is not that of one access point";
            let fix = "write pool = \"channel\", or another capacity";
            return Err(root.table("enforce", "[enforce]")?.wrong("pool", problem, fix));
        }
        Ok(())
    }
}
