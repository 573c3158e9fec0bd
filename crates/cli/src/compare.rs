//! `fairair compare`: one scenario under each remedy.

use fairair_core::metrics::CellQuantity;
use fairair_core::remedy::{REMEDIES, Remedy};
use fairair_core::scenario::Scenario;

use crate::args::{CompareArgs, Format, SortKey};
use crate::engines::compare_engines;
use crate::error::{CliError, Exit};
use crate::output::files::OutDir;
use crate::output::{self, Page, comparison};
use crate::work;

/// Files that `--out` gets.
const FILES: &[&str] = &["comparison.json", "comparison.csv", "table.txt", "scenario.toml"];

/// Simulates a scenario under each remedy and prints one table.
///
/// # Errors
/// For bad input and outputs that cannot be written, before anything runs; for failing writes after.
pub fn compare_command(args: &CompareArgs) -> Result<Exit, CliError> {
    let remedies = chosen(&args.remedies)?;
    let mut scenario = Scenario::load(&args.scenario)?;
    scenario.run.seed = args.seed.unwrap_or(scenario.run.seed);
    scenario.run.replicas = args.replicas.unwrap_or(scenario.run.replicas);
    if !args.engines.is_empty() {
        return compare_engines(args, &scenario);
    }
    let usage = |(what, help)| CliError::Usage { what, help };
    scenario.with_one_access_point("remedies do not know").map_err(usage)?;
    let out = args.out.as_deref().map(|dir| OutDir::prepare(dir, &args.scenario, FILES)).transpose()?;
    let pool = work::pool(args.jobs)?;
    let mut comparison = work::watched(|watch| fairair_sim::compare(&scenario, &remedies, &pool, watch));
    if let Some(key) = args.sort {
        comparison.sort_by(sorted_by(key));
    }
    let table = |page| comparison::table(&comparison, page);
    let json = || output::json(&comparison);
    let csv = || comparison::csv(&comparison);
    // An interrupted run that has nothing to show must not take an earlier result away.
    if let Some(out) = out.filter(|_| comparison.rows.iter().any(|row| row.report.replicas > 0)) {
        out.write(vec![json().into_bytes(), csv().into_bytes(), table(Page::FILE).into_bytes()])?;
    }
    output::print(&match args.format {
        Format::Table => table(Page::of_stdout(args.wide)),
        Format::Json => json(),
        Format::Csv => csv(),
    })?;
    Ok(if comparison.interrupted { Exit::Interrupted } else { Exit::Success })
}

/// The remedies that `names` ask for; `all` is each of them.
fn chosen(names: &[String]) -> Result<Vec<&'static Remedy>, CliError> {
    if names.iter().any(|name| name == "all") {
        return Ok(REMEDIES.iter().collect());
    }
    let known = || REMEDIES.iter().map(|remedy| remedy.name).collect::<Vec<_>>().join(", ");
    let unknown: Vec<String> =
        names.iter().filter(|name| Remedy::named(name).is_none()).map(|name| format!("`{name}`")).collect();
    if !unknown.is_empty() {
        return Err(CliError::Usage {
            what: format!("there is no remedy {}", unknown.join(", nor ")),
            help: format!("write `all` or some of {}", known()),
        });
    }
    Ok(names.iter().filter_map(|name| Remedy::named(name)).collect())
}

/// The quantity behind a key.
fn sorted_by(key: SortKey) -> &'static CellQuantity {
    let name = match key {
        SortKey::Goodput => "goodput_bps",
        SortKey::Jain => "jain_stations",
        SortKey::JainFlows => "jain_flows",
        SortKey::Level => "fairness_level",
        SortKey::Ratio => "up_down_ratio",
        SortKey::Delay => "ap_delay_p95_s",
        SortKey::ShortFiles => "small_transfer_s",
    };
    CellQuantity::named(name).expect("a name of the catalogue")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unknown_remedies_are_named() {
        let names = ["lass", "las", "tlass"].map(str::to_owned);
        let Err(refused) = chosen(&names) else { panic!("two are unknown") };
        assert_eq!(refused.to_string(), "there is no remedy `lass`, nor `tlass`");
    }
}
