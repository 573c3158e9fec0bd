//! EngineComparison side by side: a row a value.

use fairair_core::metrics::{Estimate, Unit};
use fairair_sim::{EngineComparison, Value};

use super::grid::{Align, Keep, Table, quantities, titled};
use super::quantity::{NONE, Quantity};
use super::{Page, Style, csv};

/// The comparison as text, ending with a line break.
pub(crate) fn table(engines: &EngineComparison, style: Style) -> String {
    let values = &engines.values;
    let mut table = Table::default();
    let mut add = |column| table.add(Keep::Always, column);
    add(titled("value", values.iter().map(|value| value.key.clone()).collect(), Align::Left));
    for (index, engine) in engines.engines.iter().enumerate() {
        let cells: Vec<Quantity> = values.iter().map(|value| quantity(value.unit, value.estimates[index])).collect();
        add(quantities(engine, &cells));
        if index + 1 < engines.engines.len() {
            add(titled("error", values.iter().map(|value| error(value, index)).collect(), Align::Right));
        }
    }
    let mut lines = vec![style.bold(&engines.name)];
    if engines.interrupted {
        lines.push(style.bold("INTERRUPTED: not all replicas are done"));
    }
    lines.push(String::new());
    lines.extend(table.lines(Page { style, ..Page::FILE }));
    lines.push(String::new());
    let reference = engines.engines.last().map_or("", String::as_str);
    lines.push(style.dim(&format!("error: against the {reference}; ± is the 95 % confidence half-width")));
    lines.join("\n") + "\n"
}

fn quantity(unit: Unit, estimate: Estimate) -> Quantity {
    match unit {
        Unit::Bps => Quantity::rate(estimate),
        Unit::Share => Quantity::percent(estimate),
        Unit::Packets => Quantity::scaled(estimate, 1.0, "pkt"),
        Unit::PerSecond => Quantity::scaled(estimate, 1.0, "pkt/s"),
        Unit::Seconds => Quantity::scaled(estimate, 1.0, "s"),
        Unit::Frames | Unit::Files | Unit::One => Quantity::plain(estimate),
    }
}

fn error(value: &Value, index: usize) -> String {
    value.relative_errors[index].map_or_else(|| NONE.to_owned(), |error| format!("{:+.1} %", error * 100.0))
}

/// One row a value; an estimate becomes two columns, and each engine but the last has its error.
pub(crate) fn csv(engines: &EngineComparison) -> String {
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut header = vec!["value".to_owned()];
    for engine in &engines.engines {
        header.extend([engine.clone(), format!("{engine}_ci95"), format!("{engine}_relative_error")]);
    }
    let rows = engines.values.iter().map(|value| {
        let cells = value.estimates.iter().zip(&value.relative_errors);
        let cells = cells.flat_map(|(estimate, error)| [number(estimate.mean), number(estimate.ci95), number(*error)]);
        std::iter::once(value.key.clone()).chain(cells).collect::<Vec<_>>()
    });
    csv::records(std::iter::once(header).chain(rows))
}
