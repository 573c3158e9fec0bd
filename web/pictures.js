// Takes the pictures of the lab that README.md and docs/lab.md show: `make pictures`.
// FAIRAIR names the command, CHROMIUM the browser; the argument is the directory.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [, , directory = "."] = process.argv;
const PICTURES = [
    { name: "lab", width: 1280, height: 960, colorScheme: "light", from: "header" },
    { name: "lab-phone", width: 390, height: 844, colorScheme: "dark", from: "[data-testid=answer]" },
];

const server = spawn(process.env.FAIRAIR ?? "fairair", ["lab", "--port", "0", "--no-browser"], {
    stdio: ["ignore", "pipe", "inherit"],
});
const url = await new Promise((found, fail) => {
    server.once("error", fail);
    server.stdout.on("data", (data) => {
        const said = /http:\S+/.exec(String(data));
        if (said) found(said[0]);
    });
});
const executablePath = process.env.CHROMIUM;
const browser = await chromium.launch({
    args: ["--no-sandbox", "--disable-gpu"],
    ...(executablePath ? { executablePath } : {}),
});
try {
    for (const { name, width, height, colorScheme, from } of PICTURES) {
        const context = await browser.newContext({ viewport: { width, height }, colorScheme });
        const page = await context.newPage();
        page.setDefaultTimeout(120_000);
        await page.goto(url);
        await page.waitForFunction(() => {
            const { dataset } = document.querySelector("[data-testid=answer]") ?? { dataset: {} };
            const air = document.querySelector("[data-testid=air]")?.dataset;
            return dataset.state === "done" && dataset.source === "simulation" && Number(air?.rows) > 0;
        });
        await page
            .locator(from)
            .first()
            .evaluate((element) => element.scrollIntoView());
        // What the last answer brought is drawn.
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 200))));
        await page.screenshot({ path: join(directory, `${name}.png`) });
        await context.close();
    }
} finally {
    await browser.close();
    server.kill();
}
