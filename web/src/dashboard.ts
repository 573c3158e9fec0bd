import { mount } from "svelte";
import Dashboard from "./dashboard/Dashboard.svelte";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/dashboard.css";

const target = document.getElementById("app");
if (target) mount(Dashboard, { target });
