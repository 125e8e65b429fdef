// SPDX-License-Identifier: BSD-2-Clause
// Failed processes: the box at the top of the summary.

function crashBox() {
	const { processes, failures } = data("crash"), about = data("summary");
	if (!failures)
		return null;
	const table = (rows) => make("table", null, make("tbody", null, ...rows.map((row) => make("tr",
		{ className: row.chosen ? "chosen" : "" }, make("td", { className: "words code" }, row.function),
		make("td", { className: "words dim" }, row.place), make("td", { className: "words code" }, row.words || "")))));
	const details = (title, rows) => (rows.length ? make("details", { open: rows.length < 12 },
		make("summary", null, title), table(rows)) : null);
	return make("section", { id: "crash", className: "crash", role: "alert" },
		...processes.flatMap((one) => [make("p", null, make("b", null, one.text)),
			details("stack" + (one.frames_left_out ? `, without ${count(one.frames_left_out)} frames` : ""), one.stack),
			details("last lines, the latest at the end", one.lines)]),
		failures > processes.length ? make("p", null, `${count(failures - processes.length)} more processes failed`) : null,
		make("p", { className: "dim" }, `ptl-dump crash ${about.file}`));
}
