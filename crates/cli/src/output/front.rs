//! The front of a plan as a picture: goodput against delay, fairness by colour.

use fairair_sim::plan::{Plan, Point};
use plotters::prelude::*;

/// Size in pixels, and of that the key beside the chart.
const SIZE: (u32, u32) = (1040, 480);
const KEY: u32 = 300;
/// Height of a line of the key.
const LINE: u32 = 16;
/// Delays below this many milliseconds are drawn here: an axis of decades has no zero.
const LEAST_MS: f64 = 1.0;

/// The front as an SVG document.
pub(crate) fn svg(plan: &Plan) -> String {
    let mut text = String::new();
    // Drawing into a text cannot fail but for a font, and the SVG back end has none to load.
    draw(plan, &mut text).unwrap_or_default();
    text
}

fn draw(plan: &Plan, into: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let at = |point: &Point| (point.goodput_bps / 1e6, (point.delay_s * 1e3).max(LEAST_MS));
    let most = plan.front.iter().map(at).fold((1e-3, 10.0), |most: (f64, f64), (x, y)| (most.0.max(x), most.1.max(y)));
    let least = plan.front.iter().map(at).map(|(x, _)| x).fold(most.0, f64::min);
    // Points that differ little are told apart: the axis begins where the points do.
    let margin = ((most.0 - least) * 0.1).max(most.0 * 0.02);
    let goodput = (least - margin).max(0.0)..most.0 + margin;
    // The key has a line a point.
    let size = (SIZE.0, SIZE.1.max(80 + LINE * plan.front.len() as u32));
    let root = SVGBackend::with_string(into, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, key) = root.split_horizontally(size.0 - KEY);
    let title = format!("{}: {}", plan.name, plan.goals.join(" and "));
    let mut chart = ChartBuilder::on(&left)
        .caption(title, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(goodput, (LEAST_MS * 0.8..most.1 * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("goodput of the cell, Mbit/s")
        .y_desc("delay: p95 at the AP + mean in the box, ms")
        .draw()?;
    for (number, point) in (1..).zip(&plan.front) {
        let (x, y) = at(point);
        // Points lie close to each other: a number fits, and the key says whose it is.
        let mark = EmptyElement::at((x, y))
            + Circle::new((0, 0), 6, colour(point.fairness).filled())
            + Text::new(number.to_string(), (8, -14), ("sans-serif", 11));
        chart.draw_series(std::iter::once(mark))?;
        let line = format!("{number} {}, {x:.2} Mbit/s, {y:.0} ms, fairness {:.2}", point.family, point.fairness);
        let place = (0, 50 + (LINE as i32) * (number - 1));
        key.draw(&Text::new(line, place, ("sans-serif", 11)))?;
    }
    let first = plan.rows.first().filter(|row| row.meets);
    if let Some(row) = first {
        let place = (row.report.totals.goodput_bps.mean.unwrap_or(0.0) / 1e6, (row.delay_s * 1e3).max(LEAST_MS));
        chart.draw_series(std::iter::once(Circle::new(place, 11, BLACK.stroke_width(2))))?;
    }
    let legend = "red: unfair, green: fair; ring: recommended";
    root.draw(&Text::new(legend, (80, size.1 as i32 - 14), ("sans-serif", 12)))?;
    root.present()?;
    drop(chart);
    drop((root, left, key));
    Ok(())
}

/// From red (0.5 and less) to green (1).
fn colour(fairness: f64) -> RGBColor {
    let share = ((fairness - 0.5) * 2.0).clamp(0.0, 1.0);
    RGBColor((200.0 * (1.0 - share)) as u8, (60.0 + 110.0 * share) as u8, 60)
}
