// SPDX-License-Identifier: BSD-2-Clause
// What the page has: its data, and how numbers and elements are made. Nothing is ever taken for markup: only text is set.
"use strict";

function readData(name) {
	const element = document.getElementById("data-" + name);
	return element ? JSON.parse(element.textContent) : null;
}

/* A view asks for its data when it is first shown. */
const dataRead = new Map();
function data(name) {
	if (!dataRead.has(name))
		dataRead.set(name, readData(name));
	return dataRead.get(name);
}

/* Of two traces, A and B, most views show one. A link names the trace: "#view=events&side=B". */
const sides = document.getElementById("data-summary-2") ? ["A", "B"] : [""];
const linkedSide = () => Math.max(0, sides.indexOf(new URLSearchParams(location.hash.slice(1)).get("side")));
const side = linkedSide();
const sideData = (name) => data(side ? name + "-2" : name);

const byId = (id) => document.getElementById(id);

/* make("td", {className: "number"}, "12", element ...) */
function make(tag, properties, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(properties || {})) {
		if (key.startsWith("aria-") || key === "role" || key === "colspan")
			element.setAttribute(key, value);
		else
			element[key] = value;
	}
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

const wholeNumbers = new Intl.NumberFormat("en-US");
const count = (value) => wholeNumbers.format(value);

/* 1234567 is "1.235 ms": four digits and the unit that suits. */
function duration(nanoseconds) {
	const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
	for (const [unit, size] of units)
		if (Math.abs(nanoseconds) >= size)
			return (nanoseconds / size).toPrecision(4) + " " + unit;
	return Math.round(nanoseconds) + " ns";
}

/* A moment, as milliseconds since the start of the trace. */
const moment = (nanoseconds) => (nanoseconds === null ? "-" : (nanoseconds / 1e6).toFixed(6) + " ms");

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	while (value >= 1024 && unit + 1 < units.length) {
		value /= 1024;
		unit++;
	}
	return (unit ? value.toFixed(1) : value) + " " + units[unit];
}

function share(part, whole) {
	return whole ? (100 * part / whole).toFixed(1) + " %" : "-";
}

/* "b" of "/a/b". */
const baseName = (path) => path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || path;

/* A name's colour is always the same: a hue, and how saturated it is. */
const hues = new Map();
function hueOf(name) {
	let hue = hues.get(name);
	if (hue === undefined) {
		let hash = 2166136261;
		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
		hue = (hash ^ hash >>> 15) >>> 0;
		hues.set(name, hue);
	}
	return hue;
}
function colorOf(name, dark) {
	const hue = hueOf(name);
	return `hsl(${hue % 360} ${38 + (hue >>> 9) % 24}% ${dark ? 34 + (hue >>> 16) % 10 : 68 + (hue >>> 16) % 12}%)`;
}

const isDark = () => document.documentElement.dataset.theme === "dark";
const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* The functions as objects, made once. */
let functionRows = null;
function functions() {
	if (!functionRows) {
		const { columns, rows } = sideData("functions");
		functionRows = rows.map((row, number) => {
			const one = { number };
			columns.forEach((column, i) => { one[column] = row[i]; });
			return one;
		});
	}
	return functionRows;
}

/* What is searched for: a text in lower case, "" for nothing. */
const search = { text: "", functions: new Set() };
const matches = (name) => search.text !== "" && name.toLowerCase().includes(search.text);

/* A canvas that has as many pixels as the screen has there. */
function fitCanvas(canvas) {
	const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
	const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
	if (canvas.width !== width || canvas.height !== height) {
		canvas.width = width;
		canvas.height = height;
	}
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return { context, width: width / ratio, height: height / ratio };
}

function showTip(event, lines) {
	const tip = byId("tip");
	tip.hidden = !lines;
	if (!lines)
		return;
	tip.replaceChildren(...lines.map((line, i) => make(i ? "div" : "b", null, line)));
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
	tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - box.height - 8)) + "px";
}
