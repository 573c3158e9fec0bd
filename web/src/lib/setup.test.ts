import { describe, expect, it } from "vitest";
import { NOTHING, asRate, finding, roleOf, rolesFor, withRole, type Ap, type Proposal } from "./setup";

const ap = (key: string, own = key): Ap => ({
    key,
    name: key,
    interface: own,
    why: "",
    kind: "adaptive",
    rate: "300 Mbit/s",
    rate_why: "",
});

/** A box with `wan` up, `lan` and two radios of `br` as APs, and `tun` that leads nowhere. */
const proposal: Proposal = {
    interfaces: [
        { name: "wan", role: "up", why: "" },
        { name: "lan", role: "ap", why: "" },
        { name: "br", role: "ap", why: "" },
        { name: "tun", role: "neither", why: "" },
    ],
    uplinks: ["wan"],
    lack: null,
    choice: {
        name: "x",
        mode: "routed",
        why: "",
        aps: [ap("lan"), ap("wlan0", "br"), ap("wlan1", "br")],
        sources: [],
    },
    measure: "",
    text: "",
};
const lost: Proposal = { ...proposal, uplinks: [], choice: null, text: null };
const roles = (of: Proposal) => of.interfaces.map((own) => roleOf(NOTHING, of, own));
const own = (name: string) => proposal.interfaces.find((one) => one.name === name) ?? proposal.interfaces[0]!;

describe("the roles of interfaces", () => {
    it("are what is proposed, and open while nobody knows which way is up", () => {
        expect(roles(proposal)).toEqual(["up", "ap", "ap", "neither"]);
        expect(roles(lost)).toEqual(["neither", "open", "open", "neither"]);
        expect(rolesFor(lost, own("lan"))).toContain("up");
    });
    it("leave somebody up: the only uplink stays until another one is chosen", () => {
        expect(rolesFor(proposal, own("wan"))).toEqual(["up"]);
        expect(rolesFor({ ...proposal, uplinks: ["wan", "lan"] }, own("wan"))).toContain("ap");
    });
    it("change: another way up asks for the APs anew, a second one keeps the first", () => {
        const before = { ...NOTHING, aps: ["lan"] };
        expect(withRole(before, proposal, "lan", "up")).toMatchObject({ uplinks: ["lan"], aps: null });
        expect(withRole(before, proposal, "lan", "more")).toMatchObject({
            uplinks: ["wan", "lan"],
            aps: null,
        });
        expect(withRole(before, lost, "lan", "neither")).toEqual(before);
    });
    it("change: what is no AP goes with all its radios, and comes again as one", () => {
        const without = withRole(NOTHING, proposal, "br", "neither");
        expect(without).toMatchObject({ uplinks: [], aps: ["lan"] });
        const after = {
            ...proposal,
            choice: proposal.choice && { ...proposal.choice, aps: [ap("lan")] },
        };
        expect(roleOf(without, after, own("br"))).toBe("neither");
        expect(withRole(without, after, "br", "ap").aps).toEqual(["lan", "br"]);
        const none = withRole(without, after, "lan", "neither");
        expect(none.aps).toEqual([]);
        // Then there is no choice, and what was said stands.
        expect(roleOf({ ...none, aps: ["tun"] }, { ...proposal, choice: null }, own("tun"))).toBe("ap");
    });
});

it("bare numbers are Mbit/s, and findings have a kind", () => {
    expect(asRate(" 40 ")).toBe("40 Mbit/s");
    expect(asRate("40 kbit/s")).toBe("40 kbit/s");
    expect(asRate("fast")).toBe("fast");
    expect(finding("ok   lan is up, MTU 1500")).toEqual({ kind: "ok", words: "lan is up, MTU 1500" });
    expect(finding("FAIL there is no interface lan").kind).toBe("FAIL");
});
