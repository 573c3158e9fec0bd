import { defineConfig } from "vitest/config";

// Apart from the unit tests: these need a browser and a built command.
export default defineConfig({
    // Side by side, for they mostly wait: that of the dashboard for a whole minute of its journal.
    test: { include: ["tests/*.test.ts"], hookTimeout: 60_000, maxWorkers: 2 },
});
