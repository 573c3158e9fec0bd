import { mount } from "svelte";
import SetUp from "./setup/SetUp.svelte";
import "./styles/page.css";
import "./styles/controls.css";
import "./styles/setup.css";

const target = document.getElementById("app");
if (target) mount(SetUp, { target });
