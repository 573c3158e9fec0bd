import { mount } from "svelte";
import App from "./App.svelte";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/cell.css";
import "./styles/answer.css";
import "./styles/air.css";
import "./styles/phone.css";

const target = document.getElementById("app");
if (target) mount(App, { target });
