// SPDX-License-Identifier: BSD-2-Clause
// Failed processes: the box at the top of the summary.

/* Leads to the line of a frame, or to its function. "/src/orders.cpp:52" is a place. */
function crashPlace({ function: name, place }) {
	const row = functions().find((one) => one.name === name && sourceOf(one) >= 0) || functions().find((one) => one.name === name);
	const line = /^(.*):(\d+)$/.exec(place);
	if (!row)
		return null;
	return () => (line && sourceHas(row, line[1], Number(line[2])) ? sourceOpen(row, line[1], Number(line[2])) : showFunction(row.number));
}

/* The lines around the line of a frame, as far as the source is there. */
function crashExcerpt({ excerpt, place }) {
	const line = Number(place.slice(place.lastIndexOf(":") + 1));
	return excerpt && excerpt.length ? [make("tr", { className: "excerpt" }, make("td", { colspan: 3 }, make("table", { className: "listing code" },
		make("tbody", null, ...excerpt.map(([number, words]) => make("tr", { className: number === line ? "chosen" : "" },
			make("td", { className: "number" }, String(number)), make("td", { className: "words" }, words)))))))] : [];
}

function crashTable(rows) {
	return make("table", null, make("tbody", null, ...rows.flatMap((row) => {
		const action = crashPlace(row), line = make("tr", { className: row.chosen ? "chosen" : "" },
			make("td", { className: "words code" }, row.function), make("td", { className: "words dim" }, row.place),
			make("td", { className: "words code" }, row.words || ""));
		return [action ? linkRow(line, action) : line, ...(row.chosen ? crashExcerpt(row) : [])];
	})));
}

function crashTitle(one) {
	const title = make("p", null, make("b", null, one.text)), process = sideData("processes").find((each) => each.index === one.process);
	const act = (words, action) => {
		const button = make("button", { type: "button" }, words);
		button.addEventListener("click", action);
		return button;
	};
	if (process)
		title.append(" ", act("functions of the process", () => showProcess(process)),
			...(process.end === null ? [] : [" ", act("its end in the timeline", () => goTo(process.end))]));
	return title;
}

function crashBox() {
	const { processes, failures } = sideData("crash"), about = sideData("summary");
	if (!failures)
		return null;
	const details = (title, rows) => (rows.length ? make("details", { open: rows.length < 12 },
		make("summary", null, title), crashTable(rows)) : null);
	return make("section", { id: "crash", className: "crash", role: "alert" },
		...processes.flatMap((one) => [crashTitle(one),
			details("stack" + (one.frames_left_out ? `, without ${count(one.frames_left_out)} frames` : ""), one.stack),
			details("last lines, the latest at the end", one.lines)]),
		failures > processes.length ? make("p", null, `${count(failures - processes.length)} more processes failed`) : null,
		make("p", { className: "dim" }, `ptl-dump crash ${about.file}`));
}
