import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// What is built is committed in crates/web/assets under names that do not change.
export default defineConfig({
    plugins: [svelte()],
    build: {
        outDir: "../crates/web/assets",
        emptyOutDir: true,
        target: "es2022",
        modulePreload: false,
        assetsInlineLimit: 0,
        rollupOptions: {
            input: { lab: "index.html", dashboard: "dashboard.html", setup: "setup.html" },
            output: {
                entryFileNames: "[name].js",
                // What several pages have stands once.
                codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] },
                chunkFileNames: "[name].js",
                assetFileNames: "[name][extname]",
            },
        },
    },
    server: { proxy: { "/api": "http://127.0.0.1:7447" } },
    test: { include: ["src/**/*.test.ts"] },
});
