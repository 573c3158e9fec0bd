// The dashboard beside a live box: station, box and host are network namespaces, TCP is Linux's own. Needs root.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serious } from "./axe";

const COMMAND = resolve(process.env["FAIRAIR"] ?? "../target/debug/fairair");
const SHOTS = process.env["SHOTS"];
const isRoot = process.getuid?.() === 0 && existsSync("/run") && ["ip", "tc", "nft"].every(has);
if (!isRoot && process.env["CI"]) throw new Error("CI must run this as root, with ip, tc and nft");
if (!isRoot) console.warn("*** SKIPPED (needs root, ip, tc and nft): the dashboard beside a live box ***");

function has(tool: string): boolean {
    try {
        execFileSync(tool, ["-V"], { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}

const prefix = `fd${process.pid}`;
const space = (name: string) => `${prefix}-${name}`;
const ip = (line: string) => execFileSync("ip", line.split(" "), { stdio: ["ignore", "pipe", "pipe"] });
const inside = (name: string, command: string, words: string[]) =>
    spawn("ip", ["netns", "exec", space(name), command, ...words], { stdio: ["ignore", "pipe", "inherit"] });

const directory = mkdtempSync(join(tmpdir(), "fairair-"));
const config = join(directory, "vsb.toml");
const running: ChildProcess[] = [];
let browser: Browser;
let page: Page;
const errors: string[] = [];

/** A station at 10.1.0.2 behind `lan` of the box, a host at 10.2.0.2 behind `wan`. */
function network() {
    for (const name of ["sta", "box", "host"]) {
        ip(`netns add ${space(name)}`);
        ip(`-n ${space(name)} link set lo up`);
    }
    const pairs: [string, string, string][] = [
        ["sta", "lan", "10.1.0"],
        ["host", "wan", "10.2.0"],
    ];
    for (const [end, name, net] of pairs) {
        ip(`link add ${name} netns ${space("box")} type veth peer name eth0 netns ${space(end)}`);
        ip(`-n ${space("box")} addr add ${net}.1/24 dev ${name}`);
        ip(`-n ${space("box")} link set ${name} up`);
        ip(`-n ${space(end)} addr add ${net}.2/24 dev eth0`);
        ip(`-n ${space(end)} link set eth0 up`);
        ip(`-n ${space(end)} route add default via ${net}.1`);
    }
    execFileSync("ip", ["netns", "exec", space("box"), "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
}

beforeAll(async () => {
    if (!isRoot) return;
    network();
    const lines = [
        'name = "lobby"',
        'uplink = "wan"',
        `state = "${join(directory, "state")}"`,
        "[[ap]]",
        'name = "ap1"',
        'interface = "lan"',
        'capacity = "10 Mbit/s"',
        "[journal]",
        `file = "${join(directory, "journal.db")}"`,
    ];
    writeFileSync(config, lines.join("\n"));
    running.push(inside("box", COMMAND, ["vsb", "run", config]));
    // Anybody who connects is sent zeros.
    const source =
        "require('net').createServer(s=>{const b=Buffer.alloc(65536);const f=()=>{while(s.write(b));};s.on('drain',f);s.on('error',()=>{});f();}).listen(5001)";
    running.push(inside("host", process.execPath, ["-e", source]));
    // The control socket is a file: the dashboard may be in another namespace than its box.
    const dashboard = spawn(
        COMMAND,
        ["vsb", "dashboard", config, "--listen", "127.0.0.1:0", "--no-browser"],
        {
            stdio: ["ignore", "pipe", "inherit"],
        },
    );
    running.push(dashboard);
    const address = await new Promise<string>((found, fail) => {
        dashboard.once("error", fail);
        dashboard.stdout?.on("data", (data: Buffer) => {
            const url = /http:\/\/[^/\s]+/.exec(data.toString());
            if (url) found(url[0]);
        });
    });
    const executablePath = process.env["CHROMIUM"];
    browser = await chromium.launch({
        args: ["--no-sandbox", "--disable-gpu"],
        ...(executablePath ? { executablePath } : {}),
    });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.setDefaultTimeout(30_000);
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(address);
}, 60_000);

afterAll(async () => {
    await browser?.close();
    for (const child of running) child.kill("SIGTERM");
    await new Promise((done) => setTimeout(done, isRoot ? 1500 : 0));
    if (isRoot) for (const name of ["sta", "box", "host"]) ip(`netns del ${space(name)}`);
    rmSync(directory, { recursive: true, force: true });
});

/** Mbit/s that the station gets in `seconds`. */
async function download(seconds: number): Promise<number> {
    const sink = `let n=0;const s=require('net').connect(5001,'10.2.0.2');s.on('data',d=>n+=d.length);setTimeout(()=>{console.log(n*8/${seconds}/1e6);process.exit()},${seconds * 1000})`;
    const child = inside("sta", process.execPath, ["-e", sink]);
    let text = "";
    child.stdout?.on("data", (data: Buffer) => (text += data.toString()));
    await new Promise((done) => child.once("close", done));
    return Number(text);
}

async function shot(name: string) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

describe.skipIf(!isRoot)("the dashboard beside a live box", { timeout: 60_000 }, () => {
    it("shows a station that comes, sets a cap that holds, shows a trouble and its end", async () => {
        const first = download(4);
        const station = page.getByTestId(/^station-/).first();
        await station.waitFor();
        await shot("dashboard");
        expect(await first).toBeGreaterThan(5);

        // Without the token nothing can be changed.
        await page.getByRole("heading", { name: "Read-only" }).waitFor();
        await page.getByLabel("Token").fill("wrong");
        await page.getByRole("button", { name: "Unlock changes" }).click();
        await page.getByTestId("refused").waitFor();
        const token = readFileSync(join(directory, "state", "dashboard.token"), "utf8");
        await page.getByLabel("Token").fill(token);
        await page.getByRole("button", { name: "Unlock changes" }).click();
        await page.getByRole("heading", { name: "Changes" }).waitFor();
        await station.getByRole("button", { name: /Why/ }).click();
        await station.getByLabel("Cap").fill("2");
        await station.getByRole("button", { name: "Set", exact: true }).click();
        await page.getByTestId("done").waitFor();
        await station.getByText("weight 1, cap 2 Mbit/s").waitFor();
        const capped = await download(4);
        expect(capped).toBeGreaterThan(1);
        expect(capped).toBeLessThan(2.1);
        await page.getByText(/set-station .*cap 2 Mbit\/s/).waitFor();

        ip(`-n ${space("box")} link set lan down`);
        await page.getByTestId("trouble").first().waitFor();
        await shot("dashboard-trouble");
        ip(`-n ${space("box")} link set lan up`);
        await page.getByTestId("trouble").first().waitFor({ state: "detached" });
        expect(errors).toEqual([]);
    });

    it("has a station's rates from the journal, once a minute is over", { timeout: 120_000 }, async () => {
        await page.getByTestId("past").waitFor({ timeout: 90_000 });
        await page.getByTestId("rate-curve").press("ArrowLeft");
        await page.getByText(/, 1 min: [\d.]+ [kM]bit\/s/).waitFor();
        await shot("dashboard-past");
    });

    it("has no serious violation of accessibility, light and dark, and fits a phone", async () => {
        for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme });
            expect(await serious(page)).toEqual([]);
        }
        await page.setViewportSize({ width: 390, height: 844 });
        expect(
            await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        ).toBeLessThanOrEqual(0);
        await shot("dashboard-phone");
    });
});
