// SPDX-License-Identifier: BSD-2-Clause
// The page: its views, the search, keys, themes, and links to a place in it.

const views = [
	["summary", "Summary", showSummary],
	["timeline", "Timeline", () => { timelineOpen(); timelineQueue(); }],
	["functions", "Functions", () => { showFunctions(); describeFunction(); }],
	["tree", "Call tree", treeShow],
	["flame", "Flame graph", () => { flameOpen(); flameQueue(); }],
	["source", "Source", sourceShow],
	["events", "Events", showEvents],
	["gaps", "Gaps and losses", showGaps],
	...(byId("data-summary-2") ? [["diff", "Diff", showDiff]] : []),
];
const page = { view: "summary", remembering: 0 };

function showView(name) {
	const found = views.find(([view]) => view === name) || views[0];
	[page.view] = found;
	showTip(null, null);
	for (const [view] of views) {
		byId("view-" + view).hidden = view !== page.view;
		byId("tab-" + view).setAttribute("aria-selected", String(view === page.view));
		byId("tab-" + view).tabIndex = view === page.view ? 0 : -1;
	}
	document.documentElement.dataset.view = page.view;
	describeSide();
	found[2]();
	pageRemember();
}

/* ---- two traces ------------------------------------------------------------------------------------- */

const fileOf = (which) => data(which ? "summary-2" : "summary").file;

/* Says of which trace the view is. */
function describeSide() {
	const both = page.view === "diff" || page.view === "flame";
	byId("side").hidden = sides.length < 2;
	if (sides.length < 2)
		return;
	byId("side").textContent = both ? `A: ${fileOf(0)}  ·  B: ${fileOf(1)}` : `${sides[side]}: ${fileOf(side)}`;
	byId("sides").classList.toggle("idle", both);
}

function showSide(which) {
	const link = new URLSearchParams({ view: page.view, side: sides[which] });
	if (search.text)
		link.set("search", byId("search").value);
	location.hash = "#" + link;
}

function sideButtons() {
	byId("sides").hidden = sides.length < 2;
	for (let which = 0; sides.length > 1 && which < sides.length; which++) {
		const button = make("button", { type: "button", "aria-pressed": String(which === side), title: fileOf(which) },
			`${sides[which]} ${baseName(fileOf(which))}`);
		button.addEventListener("click", () => showSide(which));
		byId("sides").append(button);
	}
}

/* ---- links ------------------------------------------------------------------------------------------ */

/* "#view=timeline&from=1200&to=3400": nanoseconds since the start of the trace. */
function pageLink() {
	const link = new URLSearchParams({ view: page.view });
	if (sides.length > 1)
		link.set("side", sides[side]);
	if (page.view === "timeline" && timeline.ready) {
		link.set("from", Math.round(timeline.from));
		link.set("to", Math.round(timeline.to));
	}
	if (page.view === "functions" && chosenFunction.row)
		link.set("function", chosenFunction.row.name);
	if (page.view === "source" && sideData("sources")[source.chosen])
		link.set("function", sideData("sources")[source.chosen].name);
	if (page.view === "tree" && treeView.inverted)
		link.set("rows", "up");
	if (page.view === "events" && eventView.provider)
		link.set("provider", eventView.provider);
	selectionLink(link);
	if (search.text)
		link.set("search", byId("search").value);
	return "#" + link;
}

/* Not for each step of a movement: browsers refuse too many. */
function pageRemember() {
	clearTimeout(page.remembering);
	page.remembering = setTimeout(() => history.replaceState(null, "", pageLink()), 150);
}

/* All data of the views are of one trace, so another trace is another page. */
function followLink() {
	if (linkedSide() !== side) {
		location.reload();
		return;
	}
	const link = new URLSearchParams(location.hash.slice(1)), name = link.get("function");
	const from = Number(link.get("from")), to = Number(link.get("to"));
	if (link.get("search") !== null)
		searchFor(link.get("search"));
	selectionFollow(link);
	treeView.inverted = link.get("rows") === "up";
	eventView.provider = link.get("provider") || "";
	if (name !== null && link.get("view") === "source")
		source.chosen = Math.max(0, sideData("sources").findIndex((one) => one.name === name));
	showView(link.get("view") || "summary");
	if (page.view === "timeline" && link.has("to") && to > from)
		timelineSet(from, to);
	const row = name === null ? undefined : functions().find((one) => one.name === name);
	if (row && page.view === "timeline" && !link.has("to")) {
		const call = longestCall(row.number);
		if (call)
			timelineShow(call);
	} else if (row && page.view !== "source") {
		showFunction(row.number);
	}
}

/* ---- search ----------------------------------------------------------------------------------------- */

function searchFor(text) {
	byId("search").value = text;
	search.text = text.trim().toLowerCase();
	search.functions = new Set(search.text ? functions().filter((row) => matches(row.name)).map((row) => row.number) : []);
	byId("found").textContent = search.text
		? `${count(search.functions.size)} functions, ${count(events().filter(eventMatches).length)} events` : "";
	views.find(([view]) => view === page.view)[2]();
	pageRemember();
}

/* ---- keys ------------------------------------------------------------------------------------------- */

const keyHelp = [["/", "search; Enter goes to what was found, Esc clears it"], ["1 to 9", "views"], ["t", "dark or light"],
	["w s, + -", "timeline: in and out (Ctrl and the wheel, too)"], ["a d, ← →", "timeline: earlier and later (or drag)"],
	["↑ ↓", "timeline: up and down; flame graph: callers and callees"], ["n p", "timeline: next and previous call searched for"],
	["m", "timeline: selects the span that is shown (or drag with Shift); a box before a thread's name selects the thread"],
	["f", "timeline: zooms to the chosen call (or a double click)"], ["Enter", "timeline: the chosen call's function"],
	["0", "all of the timeline, of the flame graph"], ["?", "this list"]];

function showKeys() {
	const dialog = byId("keys"), close = make("button", { type: "button" }, "close");
	close.addEventListener("click", () => dialog.close());
	dialog.replaceChildren(make("table", null, make("tbody", null, ...keyHelp.map(([keys, words]) =>
		make("tr", null, make("td", null, make("kbd", null, keys)), make("td", null, words))))), close);
	dialog.showModal();
}

function turnTheme() {
	document.documentElement.dataset.theme = isDark() ? "light" : "dark";
	timelineQueue();
	flameQueue();
}

const pageKeys = { "/": () => byId("search").focus(), t: turnTheme, "?": showKeys };

function takeKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, dialog *"))
		return;
	const own = page.view === "timeline" ? timelineKeys : page.view === "flame" ? flameKeys : {};
	const number = Number(event.key);
	const onButton = event.key === "Enter" && event.target.matches("button, tr");
	const action = onButton ? null : own[event.key] || pageKeys[event.key] ||
		(number >= 1 && number <= views.length ? () => showView(views[number - 1][0]) : null);
	if (!action)
		return;
	event.preventDefault();
	action();
}

function takeTabKey(event) {
	const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	if (!step)
		return;
	const at = views.findIndex(([view]) => view === page.view), next = views[(at + step + views.length) % views.length][0];
	event.stopPropagation();
	event.preventDefault();
	showView(next);
	byId("tab-" + next).focus();
}

/* ---- the beginning ---------------------------------------------------------------------------------- */

function listen() {
	const field = byId("search");
	let waiting = 0;
	field.addEventListener("input", () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => searchFor(field.value), 120);
	});
	field.addEventListener("keydown", (event) => {
		if (event.key === "Escape") {
			searchFor("");
			field.blur();
		} else if (event.key === "Enter") {
			clearTimeout(waiting);
			searchFor(field.value);
			if (page.view === "timeline")
				nextMatch(true);
			else if (page.view === "summary" && search.functions.size)
				showView("functions");
			field.blur();
		}
	});
	byId("theme").addEventListener("click", turnTheme);
	byId("help").addEventListener("click", showKeys);
	byId("tabs").addEventListener("keydown", takeTabKey);
	document.addEventListener("keydown", takeKey);
	addEventListener("resize", () => { timelineQueue(); flameQueue(); });
	addEventListener("hashchange", followLink);
	timelineListen();
	flameListen();
}

function begin() {
	const about = data("summary"), left = data("left-out");
	document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	byId("title").textContent = baseName(about.file) + (data("summary-2") ? " → " + baseName(data("summary-2").file) : "");
	sideButtons();
	byId("left-out").hidden = !left;
	byId("left-out").textContent = left ? "Not in this page: " + left : "";
	for (const [view, title] of views) {
		const tab = make("button", { type: "button", id: "tab-" + view, role: "tab", "aria-controls": "view-" + view }, title);
		tab.addEventListener("click", () => showView(view));
		byId("tabs").append(tab);
	}
	listen();
	followLink();
	document.documentElement.dataset.ready = Math.round(performance.now());
}

begin();
