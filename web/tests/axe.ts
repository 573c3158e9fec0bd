// axe-core in a page: what it finds that is serious.

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");

interface Finding {
    id: string;
    impact: string | null;
    nodes: { html: string }[];
}

/** Serious and critical violations of the page as it stands, each with the first element. */
export async function serious(page: Page): Promise<string[]> {
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
        const { axe } = window as unknown as { axe: { run: () => Promise<{ violations: Finding[] }> } };
        return (await axe.run()).violations;
    });
    const bad = found.filter((one) => one.impact === "serious" || one.impact === "critical");
    return bad.map((one) => `${one.id}: ${one.nodes[0]?.html ?? ""}`);
}
