// SPDX-License-Identifier: BSD-2-Clause
// Summary, processes, functions, events, gaps and losses, and what differs: the views that are tables.

function showSummary() {
	const about = sideData("summary"), place = byId("view-summary");
	const card = (value, title, bad) => make("div", { className: "card" + (bad ? " bad" : "") }, make("b", null, value),
		make("span", null, title));
	const facts = [["file", about.file], ["size", bytes(about.size)], ["recorded by", about.source], ["started", about.started],
		["machine", [about.hostname, about.kernel].filter(Boolean).join(", ")],
		["processor", about.cpu_name + (about.cpus ? `, ${about.cpus} CPUs` : "")],
		...about.provenance.map((step) => [`${step.tool} ${step.version}`, step.command]), ["page", about.made_by]];
	place.replaceChildren(...[crashBox()].filter(Boolean),
		make("div", { className: "cards" }, card(duration(about.duration), "duration"),
			card(count(about.instructions), "instructions"), card(count(about.calls), "calls"),
			card(count(about.functions), "functions"), card(count(about.processes), "processes"),
			card(count(about.threads), "threads"), card(count(about.gaps), "gaps", about.gaps > 0),
			card(count(about.losses), "losses", about.losses > 0),
			card(about.complete && !about.damage ? "whole" : about.complete ? count(about.damage) + " damaged" : "incomplete",
				"file", !about.complete || about.damage > 0)),
		make("h2", null, "Functions that ran most"), topFunctions(),
		make("h2", null, "Processes"), processTree(),
		make("h2", null, "The trace"),
		make("table", null, make("tbody", null, ...facts.filter(([, value]) => value).map(([name, value]) =>
			make("tr", null, make("td", { className: "dim" }, name), make("td", { className: "words" }, value))))));
}

function topFunctions() {
	const whole = sideData("summary").instructions;
	const rows = functions().slice(0, 10).map((row) => {
		const line = make("tr", { className: "link", tabIndex: 0 }, make("td", { className: "words code" }, row.name),
			make("td", { className: "dim" }, baseName(row.image)), make("td", { className: "number" }, `${count(row.calls)} call${row.calls === 1 ? "" : "s"}`),
			shareCell(row.self_instructions, whole, share(row.self_instructions, whole)));
		line.addEventListener("click", () => showFunction(row.number));
		return line;
	});
	return make("table", null, make("tbody", null, ...rows));
}

/* Parents before children; a parent that is not there, or that is its own, makes a root. */
function processOrder(list) {
	const known = new Map(list.map((one) => [one.index, one])), children = new Map(), roots = [], order = [], seen = new Set();
	for (const one of list) {
		const parent = known.get(one.parent);
		if (!parent || parent === one)
			roots.push(one);
		else
			children.set(one.parent, [...(children.get(one.parent) || []), one]);
	}
	const walk = (first) => {
		const waiting = [[first, 0]];
		while (waiting.length) {
			const [one, depth] = waiting.pop();
			if (seen.has(one))
				continue;
			seen.add(one);
			order.push([one, depth]);
			for (const child of (children.get(one.index) || []).reverse())
				waiting.push([child, depth + 1]);
		}
	};
	roots.forEach(walk);
	list.forEach(walk);
	return order;
}

function processTree() {
	const limit = 1000, order = processOrder(sideData("processes"));
	const rows = order.slice(0, limit).map(([one, depth]) => {
		const name = make("td", { className: "words code" }, one.command || one.path || one.name || "(not known)");
		name.style.paddingLeft = 10 + 18 * Math.min(depth, 30) + "px";
		return make("tr", null, make("td", { className: "number" }, String(one.pid)), name,
			make("td", { className: "number" }, one.start === null ? "before" : moment(one.start)),
			make("td", { className: "number" }, one.end === null ? "-" : duration(one.end - (one.start || 0))),
			make("td", { className: "number" }, `${one.threads.length}`),
			make("td", { className: one.failed ? "bad" : "" }, one.status || "-"));
	});
	if (order.length > limit)
		rows.push(make("tr", null, make("td", { className: "dim", colspan: 6 }, `and ${count(order.length - limit)} more`)));
	return make("table", null, make("thead", null, make("tr", null, ...[["PID", 1], ["command"], ["start", 1], ["duration", 1],
		["threads", 1], ["status"]].map(([title, number]) => make("th", { className: number ? "number" : "" }, title)))),
	make("tbody", null, ...rows));
}

/* ---- functions -------------------------------------------------------------------------------------- */

const tables = {};
const chosenFunction = { row: null };

function showFunctions() {
	if (tables.functions) {
		tables.functions.update();
		return;
	}
	const about = sideData("summary"), place = byId("view-functions"), { timed } = sideData("functions");
	const amount = (title, name, whole, text) => ({ title, number: true, value: (row) => row[name],
		cell: (row) => shareCell(row[name], whole, text(row[name])) });
	const columns = [
		{ title: "function", value: (row) => row.name, code: true },
		{ title: "image", value: (row) => baseName(row.image) },
		{ title: "calls", number: true, value: (row) => row.calls, text: (row) => count(row.calls) },
		amount("own instructions", "self_instructions", about.instructions, count),
		amount("with calls", "total_instructions", about.instructions, count),
		...(timed ? [amount("own time", "self_time", about.time, duration), amount("with calls", "total_time", about.time, duration)] : []),
	];
	const detail = make("div", { className: "detail", id: "function-detail" });
	place.replaceChildren(detail);
	tables.functions = makeTable(place, columns, functions(), {
		order: 3, filter: (row) => !search.text || matches(row.name) || row === chosenFunction.row,
		choose: (row) => showFunction(row.number), chosen: (row) => row === chosenFunction.row,
		empty: "no function that ran is called so",
	});
}

function describeFunction() {
	const row = chosenFunction.row, place = byId("function-detail");
	if (!place || !row)
		return;
	const longest = make("button", { type: "button" }, "longest call"), code = make("button", { type: "button" }, "source");
	longest.addEventListener("click", () => {
		showView("timeline");
		const call = longestCall(row.number);
		if (call)
			timelineShow(call);
	});
	code.disabled = sourceOf(row) < 0;
	code.addEventListener("click", () => {
		source.chosen = sourceOf(row);
		showView("source");
	});
	place.replaceChildren(make("b", null, row.name), `  ${row.image}  ${row.address}  `, longest, " ", code);
}

function showFunction(number) {
	chosenFunction.row = functions()[number] || null;
	showView("functions");
	if (!chosenFunction.row)
		return;
	tables.functions.update();
	tables.functions.find(chosenFunction.row);
	describeFunction();
	pageRemember();
}

/* ---- events, gaps ----------------------------------------------------------------------------------- */

let eventRows = null;
function events() {
	if (!eventRows) {
		const names = [];
		eventRows = sideData("events").map(([time, words, pid, tid, text, activity]) => {
			if (typeof words !== "number")
				names.push(words);
			return { time, name: typeof words === "number" ? names[words] : words, pid, tid, text, activity };
		});
	}
	return eventRows;
}

const eventMatches = (row) => matches(row.name) || matches(row.text);

function goTo(time) {
	showView("timeline");
	const span = Math.min(timeline.to - timeline.from, (timeline.last - timeline.first) / 20);
	timelineSet(time - span / 2, time + span / 2);
}

function showEvents() {
	if (tables.events) {
		tables.events.update();
		return;
	}
	const id = (value) => (value === null ? "-" : String(value));
	byId("view-events").replaceChildren();
	tables.events = makeTable(byId("view-events"), [
		{ title: "time", number: true, value: (row) => row.time, text: (row) => moment(row.time) },
		{ title: "event", value: (row) => row.name },
		{ title: "process", number: true, value: (row) => row.pid, text: (row) => id(row.pid) },
		{ title: "thread", number: true, value: (row) => row.tid, text: (row) => id(row.tid) },
		{ title: "what it says", value: (row) => row.text, code: true },
	], events(), { order: 0, descending: false, filter: (row) => !search.text || eventMatches(row),
		choose: (row) => row.time !== null && goTo(row.time), empty: "no event" });
}

function showGaps() {
	const place = byId("view-gaps"), { gaps } = sideData("timeline"), { losses, damage } = sideData("losses");
	const id = (value) => (value === undefined ? "-" : String(value));
	place.replaceChildren(make("h2", null, "Gaps: stretches of which it is not known what ran"));
	makeTable(place, [
		{ title: "time", number: true, value: (row) => row.time, text: (row) => moment(row.time) },
		{ title: "duration", number: true, value: (row) => row.duration, text: (row) => duration(row.duration) },
		{ title: "process", number: true, value: (row) => row.pid, text: (row) => id(row.pid) },
		{ title: "thread", number: true, value: (row) => row.tid, text: (row) => id(row.tid) },
	], gaps, { order: 0, descending: false, choose: (row) => row.time !== null && goTo(row.time), empty: "no gap" });
	place.append(make("h2", null, "Losses: what the recorder could not write"));
	makeTable(place, [
		{ title: "what", value: (row) => row.kind },
		{ title: "how many", number: true, value: (row) => row.count, text: (row) => count(row.count) },
		{ title: "bytes", number: true, value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
		{ title: "from", number: true, value: (row) => row.first_time, text: (row) => moment(row.first_time) },
		{ title: "to", number: true, value: (row) => row.last_time, text: (row) => moment(row.last_time) },
		{ title: "process", number: true, value: (row) => row.pid, text: (row) => id(row.pid) },
		{ title: "cause", value: (row) => row.cause },
	], losses, { order: 1, empty: "no loss" });
	place.append(make("h2", null, "Damage: what of the file could not be read"));
	makeTable(place, [
		{ title: "offset", number: true, value: (row) => row.offset, text: (row) => count(row.offset) },
		{ title: "bytes", number: true, value: (row) => row.size, text: (row) => count(row.size) },
		{ title: "what is wrong", value: (row) => row.text },
	], damage, { order: 0, descending: false, empty: "no damage" });
}

/* ---- two traces ------------------------------------------------------------------------------------- */

/* Functions by name and file: what each took in both. */
function differences() {
	const joined = new Map();
	for (const [side, name] of [[0, "functions"], [1, "functions-2"]]) {
		const { columns, rows } = data(name), at = (column) => columns.indexOf(column);
		for (const row of rows) {
			const key = row[at("name")] + "\n" + baseName(row[at("image")]);
			if (!joined.has(key))
				joined.set(key, { name: row[at("name")], image: baseName(row[at("image")]), calls: [0, 0], instructions: [0, 0], time: [0, 0] });
			const one = joined.get(key);
			one.calls[side] += row[at("calls")];
			one.instructions[side] += row[at("self_instructions")];
			one.time[side] += row[at("self_time")];
		}
	}
	return [...joined.values()].filter((one) => ["calls", "instructions"].some((what) => one[what][0] !== one[what][1]) ||
		one.time[0] !== one.time[1]);
}

function showDiff() {
	const place = byId("view-diff"), before = data("summary"), after = data("summary-2");
	if (tables.diff) {
		tables.diff.update();
		return;
	}
	const signed = (value, text) => (value > 0 ? "+" : value < 0 ? "−" : "") + text(Math.abs(value));
	const change = (title, name, text) => ({ title, number: true, value: (row) => row[name][1] - row[name][0], cell: (row) => {
		const value = row[name][1] - row[name][0];
		return make("td", { className: "number " + (value > 0 ? "more" : value < 0 ? "less" : "dim") }, signed(value, text));
	} });
	const plain = (title, name, side) => ({ title, number: true, value: (row) => row[name][side], text: (row) => count(row[name][side]) });
	place.replaceChildren(make("p", null, "A ", make("b", null, before.file), " → B ", make("b", null, after.file)),
		make("div", { className: "cards" }, ...[["instructions", count], ["calls", count], ["time", duration], ["processes", count]].map(
			([name, text]) => make("div", { className: "card" }, make("b", null, signed(after[name] - before[name], text)),
				make("span", null, `${name}: A ${text(before[name])} → B ${text(after[name])}`)))),
		make("h2", null, "Functions of which something differs"));
	tables.diff = makeTable(place, [
		{ title: "function", value: (row) => row.name, code: true }, { title: "image", value: (row) => row.image },
		change("own instructions", "instructions", count), plain("A", "instructions", 0), plain("B", "instructions", 1),
		change("calls", "calls", count), plain("A", "calls", 0), plain("B", "calls", 1),
		change("own time", "time", duration),
	], differences(), { order: 2, filter: (row) => !search.text || matches(row.name), empty: "nothing differs" });
}
