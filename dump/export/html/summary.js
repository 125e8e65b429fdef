// SPDX-License-Identifier: BSD-2-Clause
// Summary, processes, and what differs.

function showSummary() {
	const about = sideData("summary"), place = byId("view-summary");
	const card = (value, title, bad, view) => {
		const one = make(view ? "button" : "div", { className: "card" + (bad ? " bad" : "") }, make("b", null, value), make("span", null, title));
		if (view)
			one.addEventListener("click", () => showView(view));
		return one;
	};
	const facts = [["file", about.file], ["size", bytes(about.size)], ["recorded by", about.source], ["started", about.started],
		["machine", [about.hostname, about.kernel].filter(Boolean).join(", ")],
		["processor", about.cpu_name + (about.cpus ? `, ${about.cpus} CPUs` : "")],
		...about.provenance.map((step) => [`${step.tool} ${step.version}`, step.command]), ["page", about.made_by]];
	place.replaceChildren(...[crashBox()].filter(Boolean),
		make("div", { className: "cards" }, card(duration(about.duration), "duration", false, "timeline"),
			card(count(about.instructions), "instructions", false, "flame"), card(count(about.calls), "calls", false, "tree"),
			card(count(about.functions), "functions", false, "functions"), card(count(about.processes), "processes"),
			card(count(about.threads), "threads", false, "timeline"), card(count(about.gaps), "gaps", about.gaps > 0, "gaps"),
			card(count(about.losses), "losses", about.losses > 0, "gaps"),
			card(about.complete && !about.damage ? "whole" : about.complete ? count(about.damage) + " damaged" : "incomplete",
				"file", !about.complete || about.damage > 0, "gaps")),
		make("h2", null, "Functions that ran most"), topFunctions(),
		make("h2", null, "Processes"), processTree(),
		make("h2", null, "The trace"),
		make("table", null, make("tbody", null, ...facts.filter(([, value]) => value).map(([name, value]) =>
			make("tr", null, make("td", { className: "dim" }, name), make("td", { className: "words" }, value))))),
		redactionHint());
}

/* Whoever gets the page gets all of its texts. */
function redactionHint() {
	const about = sideData("summary");
	return make("p", { id: "redaction", className: "dim" }, about.redacted ? "The trace is redacted." : "Before you give this page away: it has " +
		"paths, command lines, host and user names, source, and texts of events. Tokens replace them in a page of: ",
	...(about.redacted ? [] : [make("span", { className: "code" }, `ptl-relog ${shellWord(about.file)} --redact all -o redacted.ptl`)]));
}

/* A file name as a word for a shell. */
const shellWord = (text) => (/^[\w./+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

function topFunctions() {
	const whole = sideData("summary").instructions;
	const rows = functions().slice(0, 10).map((row) => {
		const line = make("tr", null, make("td", { className: "words code" }, row.name),
			make("td", { className: "dim" }, baseName(row.image)), make("td", { className: "number" }, `${count(row.calls)} call${row.calls === 1 ? "" : "s"}`),
			shareCell(row.self_instructions, whole, share(row.self_instructions, whole)));
		return linkRow(line, () => showFunction(row.number));
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
		return linkRow(make("tr", null, make("td", { className: "number" }, String(one.pid)), name,
			make("td", { className: "number" }, one.start === null ? "before" : moment(one.start)),
			make("td", { className: "number" }, one.end === null ? "-" : duration(one.end - (one.start || 0))),
			make("td", { className: "number" }, `${one.threads.length}`),
			make("td", { className: one.failed ? "bad" : "" }, one.status || "-")), () => showProcess(one));
	});
	if (order.length > limit)
		rows.push(make("tr", null, make("td", { className: "dim", colspan: 6 }, `and ${count(order.length - limit)} more`)));
	return make("table", { id: "processes" }, make("thead", null, make("tr", null, ...[["PID", 1], ["command"], ["start", 1], ["duration", 1],
		["threads", 1], ["status"]].map(([title, number]) => make("th", { className: number ? "number" : "" }, title)))),
	make("tbody", null, ...rows));
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
