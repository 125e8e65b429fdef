// SPDX-License-Identifier: BSD-2-Clause
// The table of functions, and a function with its callers, its callees and its calls.

const tables = {};
const chosenFunction = { row: null };
const NEIGHBOURS = 12; /* rows of a list, before "all" */
const LONGEST = 6; /* calls of a function */

/* Rows of the whole trace are those of report. Rows of a selection, or with folded libraries, are sums of the tree. */
function functionTable() {
	const about = sideData("summary");
	if (!isSelected() && !selection.fold)
		return { rows: functions(), instructions: about.instructions, time: about.time };
	const tree = callTree();
	return { instructions: tree.root.allInstructions, time: tree.root.allTime, rows: [...functionSums(tree).values()].map((one) => ({
		number: one.row, name: one.name, image: one.row >= 0 ? functions()[one.row].image : "", calls: one.calls,
		self_instructions: one.instructions, total_instructions: one.allInstructions, self_time: one.time, total_time: one.allTime })) };
}

function showFunctions() {
	if (tables.functions) {
		tables.functions.update();
		return;
	}
	const place = byId("view-functions"), { timed } = sideData("functions"), whole = functionTable();
	const amount = (title, name, all, text) => ({ title, number: true, value: (row) => row[name],
		cell: (row) => shareCell(row[name], all, text(row[name])) });
	const whole_number = (value) => count(Math.round(value));
	const columns = [
		{ title: "function", value: (row) => row.name, code: true },
		{ title: "image", value: (row) => baseName(row.image), cell: (row) => make("td", { className: "image" }, baseName(row.image)) },
		{ title: "calls", number: true, value: (row) => row.calls, text: (row) => count(row.calls) },
		amount("own instructions", "self_instructions", whole.instructions, whole_number),
		amount("with calls", "total_instructions", whole.instructions, whole_number),
		...(timed ? [amount("own time", "self_time", whole.time, duration), amount("with calls", "total_time", whole.time, duration)] : []),
	];
	place.replaceChildren(make("div", { className: "bar" }, foldBox("functions-fold")), make("div", { className: "detail", id: "function-detail" }));
	tables.functions = makeTable(place, columns, whole.rows, {
		order: 3, filter: (row) => !search.text || matches(row.name) || isChosen(row),
		choose: (row) => row.number >= 0 && showFunction(row.number), chosen: isChosen,
		empty: isSelected() ? "no function of the selection is called so" : "no function that ran is called so",
	});
}

const isChosen = (row) => chosenFunction.row !== null && row.number === chosenFunction.row.number;

/* A list of callers or callees. A row leads to its function. */
function neighbourTable(id, title, list) {
	const by = list.some((one) => one.allInstructions) ? "allInstructions" : "allTime";
	const text = by === "allTime" ? duration : (value) => count(Math.round(value));
	const whole = list.reduce((sum, one) => sum + one[by], 0), table = make("tbody");
	const show = (most) => table.replaceChildren(...list.slice(0, most).map((one) => {
		const row = make("tr", { className: one.row >= 0 ? "link" : "" }, make("td", { className: "words code" }, one.name),
			make("td", { className: "number" }, one.calls ? count(one.calls) : ""), shareCell(one[by], whole, text(one[by])));
		if (one.row >= 0)
			linkRow(row, () => showFunction(one.row));
		return row;
	}), ...(list.length > most ? [linkRow(make("tr", { className: "link" }, make("td", { colspan: 3, className: "dim" },
		`all ${count(list.length)}`)), () => show(Infinity))] : []));
	list.sort((a, b) => b[by] - a[by] || b.calls - a.calls || (a.name < b.name ? -1 : 1));
	show(NEIGHBOURS);
	return make("div", null, make("h3", null, `${title} (${count(list.length)})`), make("table", { className: "wide", id },
		make("thead", null, make("tr", null, make("th", null, "function"), make("th", { className: "number" }, "calls"),
			make("th", { className: "number" }, by === "allTime" ? "time with callees" : "instructions with callees"))), table));
}

function callTable(row) {
	const { total, list } = callsOf(row.number, LONGEST);
	const head = ["time", "duration", "instructions"].map((title) => make("th", { className: "number" }, title));
	return make("div", { className: "calls" }, make("h3", null, total > list.length ? `Calls: the longest of ${count(total)}` : `Calls (${count(total)})`),
		make("table", { id: "function-calls" }, make("thead", null, make("tr", null, ...head, make("th", null, "thread"))), make("tbody", null, ...list.map((call) => linkRow(
			make("tr", { className: "link" }, make("td", { className: "number" }, moment(call.time)),
				make("td", { className: "number" }, duration(call.duration)), make("td", { className: "number" }, count(call.instructions)),
				make("td", { className: "image dim" }, tracks()[call.track].title)),
			() => { showView("timeline"); timelineShow(call); })))));
}

function describeFunction() {
	const row = chosenFunction.row, place = byId("function-detail");
	if (!place || !row) {
		if (place)
			place.replaceChildren();
		return;
	}
	const act = (words, action, disabled) => {
		const button = make("button", { type: "button", disabled: !!disabled }, words);
		button.addEventListener("click", action);
		return button;
	};
	const { callers, callees } = neighbours(callTree(), row.number);
	place.replaceChildren(make("b", null, row.name), `  ${row.image}  ${row.address}  `,
		act("longest call", () => {
			showView("timeline");
			const call = longestCall(row.number);
			if (call)
				timelineShow(call);
		}), " ", act("source", () => sourceOpen(row), sourceOf(row) < 0),
		make("div", { className: "neighbours" }, neighbourTable("function-callers", "Callers", callers),
			neighbourTable("function-callees", "Callees", callees), callTable(row)));
}

function showFunction(number) {
	chosenFunction.row = functions()[number] || null;
	showView("functions");
	if (!chosenFunction.row)
		return;
	tables.functions.update();
	tables.functions.find(isChosen);
	byId("view-functions").scrollTop = 0;
	pageRemember();
}
