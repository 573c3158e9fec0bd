// The first set-up of a box as a page: the box is a network namespace, and so the browser is in it, too. Needs root.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
    chmodSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    rmSync,
    unlinkSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serious } from "./axe";

const COMMAND = resolve(process.env["FAIRAIR"] ?? "../target/debug/fairair");
const SHOTS = process.env["SHOTS"];
const isRoot = process.getuid?.() === 0 && existsSync("/run") && ["ip", "tc", "nft"].every(has);
if (!isRoot && process.env["CI"]) throw new Error("CI must run this as root, with ip, tc and nft");
if (!isRoot) console.warn("*** SKIPPED (needs root, ip, tc and nft): the set-up as a page ***");

function has(tool: string): boolean {
    try {
        execFileSync(tool, ["-V"], { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}

const [box, far] = [`fs${process.pid}-box`, `fs${process.pid}-far`];
const ip = (line: string) => execFileSync("ip", line.split(" "), { stdio: ["ignore", "pipe", "pipe"] });
const inBox = (...words: string[]) => execFileSync("ip", ["netns", "exec", box, ...words]).toString();
const isShaped = () => inBox("tc", "qdisc", "show").includes("htb");

const directory = mkdtempSync(join(tmpdir(), "fairair-"));
const config = join(directory, "vsb.toml");
/** While this file is there `nft` fails. */
const broken = join(directory, "broken");
let setup: ChildProcess | null = null;
let log = "";
let browser: Browser;
let page: Page;
let address = "";
const errors: string[] = [];

/** Makes the program `name`, which comes before the system's. */
function program(name: string, script: string): string {
    const path = join(directory, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
}

/** Starts the set-up, with a `/run` of its own; its address with the token. */
async function start(): Promise<string> {
    const own = `mount -t tmpfs none /run && exec ${COMMAND} vsb init ${config} --page --port 0`;
    const child = spawn("ip", ["netns", "exec", box, "unshare", "--mount", "sh", "-c", own], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, PATH: `${directory}:${process.env["PATH"]}` },
    });
    setup = child;
    log = "";
    child.stderr.on("data", (data: Buffer) => (log += data.toString()));
    return await new Promise((found, fail) => {
        child.once("error", fail);
        child.once("exit", () => fail(new Error(`it ended: ${log}`)));
        child.stdout.on("data", (data: Buffer) => {
            const url = /http:\S+/.exec(data.toString());
            if (url) found(url[0]);
        });
    });
}

/** Ends the set-up; its exit code. */
async function end(signal: NodeJS.Signals): Promise<number | null> {
    const child = setup;
    setup = null;
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    const code = new Promise<number | null>((done) => child.once("exit", done));
    child.kill(signal);
    return code;
}

async function open(url: string, viewport = { width: 1280, height: 900 }): Promise<Page> {
    const opened = await (await browser.newContext({ viewport })).newPage();
    opened.setDefaultTimeout(20_000);
    opened.on("pageerror", (error) => errors.push(String(error)));
    await opened.goto(url);
    return opened;
}

async function shot(name: string) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}

beforeAll(async () => {
    if (!isRoot) return;
    for (const own of [box, far]) ip(`netns add ${own}`);
    ip(`-n ${box} link set lo up`);
    for (const [name, net] of [
        ["wan", "10.2.0"],
        ["lan", "10.1.0"],
        ["office", "10.3.0"],
    ] as const) {
        ip(`link add ${name} netns ${box} type veth peer name ${name} netns ${far}`);
        ip(`-n ${box} addr add ${net}.1/24 dev ${name}`);
        ip(`-n ${box} link set ${name} up`);
        ip(`-n ${far} link set ${name} up`);
    }
    ip(`-n ${box} route add default via 10.2.0.2`);
    const nft = execFileSync("sh", ["-c", "command -v nft"]).toString().trim();
    program("nft", `[ -e ${broken} ] && { echo 'Error: no such luck' >&2; exit 1; }\nexec ${nft} "$@"`);
    const chrome = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
    const executablePath = program("chrome", `exec ip netns exec ${box} ${chrome} "$@"`);
    browser = await chromium.launch({ args: ["--no-sandbox", "--disable-gpu"], executablePath });
}, 60_000);

afterAll(async () => {
    await browser?.close();
    if (isRoot) for (const own of [box, far]) ip(`netns del ${own}`);
    rmSync(directory, { recursive: true, force: true });
});

describe.skipIf(!isRoot)("the first set-up as a page", { timeout: 60_000 }, () => {
    beforeEach(async () => {
        for (const file of [config, broken]) if (existsSync(file)) unlinkSync(file);
        address = await start();
        page = await open(address);
    });
    afterEach(async () => {
        await end("SIGINT");
        for (const context of browser.contexts()) await context.close();
        expect(errors).toEqual([]);
        expect(isShaped()).toBe(false);
    });

    const button = (name: string, of = page) => of.getByRole("button", { name });
    const role = (name: string) => page.getByTestId(`interface-${name}`).getByRole("combobox");
    const text = async () => (await page.getByTestId("text").textContent()) ?? "";

    it("says which way is up and why, takes what the operator says, writes, checks, starts, and keeps what is confirmed", async () => {
        await page
            .getByTestId("interface-wan")
            .getByText("the default route goes by it, to 10.2.0.2")
            .waitFor();
        await page.getByTestId("interface-lan").getByText("the box is the router of 10.1.0.0/24").waitFor();
        expect(await role("wan").inputValue()).toBe("up");
        expect(await role("lan").inputValue()).toBe("ap");
        expect(await text()).toContain('uplink = "wan"');
        await shot("setup");
        // Another way up, and back; an interface that leads to no AP.
        await role("lan").selectOption("up");
        await page.getByTestId("interface-lan").getByText("named as the uplink").waitFor();
        expect(await text()).toContain('interface = "wan"');
        await role("wan").selectOption("up");
        await role("office").selectOption("neither");
        await page.getByTestId("ap-office").waitFor({ state: "detached" });
        await role("lan").selectOption("neither");
        await page.getByTestId("lack").getByText("no interface leads to an access point").waitFor();
        await role("lan").selectOption("ap");
        // Names and rates; a wrong one is told where it is typed.
        const ap = page.getByTestId("ap-lan");
        await ap.getByLabel("Access point").fill("lobby");
        await ap.getByRole("textbox", { name: "At most" }).fill("fast");
        await ap.getByRole("textbox", { name: "At most" }).press("Enter");
        await page.getByTestId("lack").getByText("the capacity of lan").waitFor();
        await ap.getByRole("textbox", { name: "At most" }).fill("40");
        await ap.getByRole("textbox", { name: "At most" }).press("Enter");
        await page.getByTestId("text").getByText('max = "40 Mbit/s"').waitFor();
        expect(await text()).toContain('name = "lobby"');
        expect(existsSync(config)).toBe(false);
        await button("Write and check").click();
        await page.getByTestId("verdict").getByText("It passes").waitFor();
        expect(readFileSync(config, "utf8")).toBe(await text());
        expect(isShaped()).toBe(false);
        await button("Start").click();
        await button("Confirm: keep it").waitFor();
        expect(isShaped()).toBe(true);
        await shot("setup-trial");
        await button("Confirm: keep it").click();
        await page.getByTestId("trial").getByText("Confirmed: it shapes").waitFor();
        await button("Take it back now").click();
        await page.getByTestId("trial").getByText("everything is as before").waitFor();
        expect(isShaped()).toBe(false);
    });

    it("takes roles that are chosen before the answer to the one before is there", async () => {
        await page.getByTestId("ap-office").waitFor();
        await page.route("**/api/step", async (route) => {
            await new Promise((done) => setTimeout(done, 300));
            await route.continue();
        });
        await role("lan").selectOption("up");
        await role("wan").selectOption("up");
        await role("office").selectOption("neither");
        await page.getByTestId("ap-office").waitFor({ state: "detached" });
        await page.getByTestId("text").getByText('uplink = "wan"').waitFor();
        expect(await text()).toContain('interface = "lan"');
        expect(await page.getByTestId("lack").count()).toBe(0);
    });

    it(
        "takes everything back when the page is closed before it confirms, and says so to who looks again",
        { timeout: 150_000 },
        async () => {
            await button("Write and check").click();
            await button("Start").click();
            await button("Confirm: keep it").waitFor();
            expect(isShaped()).toBe(true);
            await page.close();
            await expect.poll(isShaped, { timeout: 90_000, interval: 500 }).toBe(false);
            page = await open(address);
            await page
                .getByTestId("trial")
                .getByText("nobody confirmed within 60s; everything is as before")
                .waitFor();
        },
    );

    it("has one truth in two browsers, and no step without the token", async () => {
        const other = await open(address);
        await other.getByTestId("text").waitFor();
        await button("Write and check").click();
        await page.getByTestId("verdict").getByText("It passes").waitFor();
        // The other one sees the file, and writes over it only when allowed to.
        await other.getByText("which is there already").waitFor();
        expect(await button("Write and check", other).isDisabled()).toBe(true);
        await other.getByLabel("Site").fill("pier");
        await other.getByLabel("Site").press("Enter");
        await other.getByTestId("text").getByText('name = "pier"').waitFor();
        await other.getByRole("checkbox").check();
        await button("Write and check", other).click();
        await expect.poll(() => readFileSync(config, "utf8")).toContain('name = "pier"');
        await button("Start").click();
        await button("Confirm: keep it", other).click();
        await page.getByTestId("trial").getByText("Confirmed: it shapes").waitFor();
        // Ctrl-C takes back and ends; who looks is told.
        expect(await end("SIGINT")).toBe(0);
        await page.getByTestId("silence").getByText("the set-up does not answer").waitFor();
        expect(isShaped()).toBe(false);
        const again = await start();
        const stranger = await open(again.replace(/#.*/, ""));
        await stranger.getByText("this page needs the token of the set-up that runs").first().waitFor();
        expect(await stranger.getByTestId("text").count()).toBe(0);
        // The whole address opens it, also in a tab that had the other.
        await stranger.goto(again);
        await stranger.getByTestId("text").waitFor();
    });

    it("says what is missing: no way up, a check that fails", async () => {
        writeFileSync(broken, "");
        await button("Write and check").click();
        await page.getByTestId("verdict").getByText("It fails. Mend what says FAIL").waitFor();
        await page.getByTestId("findings").getByText("no such luck").first().waitFor();
        expect(await button("Start").isDisabled()).toBe(true);
        ip(`-n ${box} route del default`);
        try {
            await button("Look again").click();
            await page.getByTestId("lack").getByText("there is no default route").waitFor();
            await role("wan").selectOption("up");
            await page.getByTestId("text").getByText('uplink = "wan"').waitFor();
        } finally {
            ip(`-n ${box} route add default via 10.2.0.2`);
        }
    });

    it("works by keyboard, on a phone, and has no serious violation of accessibility, light and dark", async () => {
        await page.setViewportSize({ width: 390, height: 844 });
        await page.getByTestId("text").waitFor();
        /** Presses Tab until `name` has the focus. */
        const reach = async (name: string) => {
            for (let presses = 0; presses < 60; presses++) {
                await page.keyboard.press("Tab");
                const own = await page.evaluate(() => {
                    const { activeElement: at } = document;
                    return `${at?.getAttribute("aria-label") ?? ""} ${at?.textContent ?? ""} ${at?.closest("label")?.textContent ?? ""}`;
                });
                if (own.includes(name)) return;
            }
            throw new Error(`${name} is not reached`);
        };
        await reach("office");
        await page.keyboard.press("n");
        await page.getByTestId("ap-office").waitFor({ state: "detached" });
        await reach("Write and check");
        await page.keyboard.press("Enter");
        await page.getByTestId("verdict").getByText("It passes").waitFor();
        await reach("Start");
        await page.keyboard.press("Enter");
        await button("Confirm: keep it").waitFor();
        for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme });
            expect(await serious(page)).toEqual([]);
        }
        expect(
            await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        ).toBeLessThanOrEqual(0);
        await shot("setup-phone");
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
        await reach("Take it back now");
        await page.keyboard.press("Enter");
        await page.getByTestId("trial").getByText("everything is as before").waitFor();
    });
});
