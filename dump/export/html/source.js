// SPDX-License-Identifier: BSD-2-Clause
// The lines and the instructions of the functions that ran most, with how often each ran.

const source = { chosen: -1, instructions: false, file: "", line: 0 };
const hasText = (one) => one.files.some((file) => file.lines.some((line) => line[3] !== null));

/* A frame may name the file only by its last part. */
const isSourceFile = (path) => path === source.file || baseName(path) === source.file;

function sourceTable(rows, most) {
	return make("table", { className: "listing code wide" }, make("tbody", null, ...rows.map(({ ran, place, words, note, isHere }) => {
		const row = make("tr", { className: ran ? "ran" : "cold" },
			make("td", { className: "number" }, ran === null ? "" : count(ran)), make("td", { className: "number" }, place),
			make("td", { className: "words" }, words), make("td", { className: "dim" }, note || ""));
		if (ran)
			row.style.setProperty("--heat", Math.round(4 + 46 * Math.log1p(ran) / Math.log1p(most)) + "%");
		if (isHere)
			row.id = "source-line";
		row.classList.toggle("chosen", !!isHere);
		return row;
	})));
}

function sourceLines(one) {
	const most = Math.max(1, ...one.files.flatMap((file) => file.lines.map((line) => line[1] || 0)));
	return one.files.flatMap((file) => [make("h2", { className: "code" }, file.file),
		...(file.lines.every((line) => line[3] === null) ? [make("p", { className: "dim" },
			"This machine had no such file when the page was made: only the numbers of lines are known.")] : []),
		sourceTable(file.lines.map(([number, ran, , words]) => ({ ran, place: String(number), words: words || "",
			isHere: number === source.line && isSourceFile(file.file) })), most)]);
}

function sourceInstructions(one) {
	const most = one.instructions.reduce((larger, each) => Math.max(larger, each[2]), 1);
	return [sourceTable(one.instructions.map(([address, words, ran, line, taken, not]) => ({
		ran, place: address, words,
		note: (line ? `line ${line}` : "") + (taken === undefined ? "" : `  taken ${count(taken)}, not ${count(not)}`),
	})), most)];
}

function sourceShow() {
	const list = sideData("sources"), place = byId("view-source");
	if (!list.length) {
		place.replaceChildren(make("p", { className: "dim" }, "No function that ran has a name and a file."));
		return;
	}
	/* At first the first one whose source is there. */
	if (source.chosen < 0) {
		source.chosen = Math.max(0, list.findIndex(hasText));
		source.instructions = !hasText(list[source.chosen]);
	}
	const one = list[source.chosen], toggle = make("button", { type: "button" },
		source.instructions ? "show lines of source" : "show instructions");
	const lines = one.files.length > 0;
	toggle.disabled = !lines;
	toggle.addEventListener("click", () => {
		source.instructions = !source.instructions;
		sourceShow();
	});
	const names = make("ul", null, ...list.map((each, i) => {
		const button = make("button", { type: "button", "aria-current": String(i === source.chosen) }, each.name,
			make("div", { className: "dim" }, `${count(each.executed)} instructions`));
		button.addEventListener("click", () => {
			Object.assign(source, { chosen: i, line: 0 });
			sourceShow();
			pageRemember();
		});
		return make("li", null, button);
	}));
	place.replaceChildren(make("div", { className: "source" }, names, make("div", null,
		make("h2", null, one.name, make("span", { className: "dim" }, ` (${baseName(one.image)})  `), toggle, " ", sourceFunction(one)),
		...(source.instructions || !lines ? sourceInstructions(one) : sourceLines(one)))));
}

/* From source back to the function's callers, callees and calls. */
function sourceFunction(one) {
	const row = functions().find((each) => each.name === one.name && each.image === one.image);
	const button = make("button", { type: "button", disabled: !row }, "callers and calls");
	button.addEventListener("click", () => showFunction(row.number));
	return button;
}

/* Whether the page has this line of a function. */
const sourceHas = (row, file, line) => sourceOf(row) >= 0 && sideData("sources")[sourceOf(row)].files.some((one) =>
	(one.file === file || baseName(one.file) === file) && one.lines.some(([number]) => number === line));

/* Shows the source of a function, and a line of a file. */
function sourceOpen(row, file, line) {
	Object.assign(source, { chosen: sourceOf(row), file: file || "", line: line || 0 });
	source.instructions = !hasText(sideData("sources")[source.chosen]) && !line;
	showView("source");
	const here = byId("source-line");
	if (here)
		here.scrollIntoView({ block: "center" });
}

/* The function's place in the list; -1. */
const sourceOf = (row) => sideData("sources").findIndex((one) => one.name === row.name && one.image === row.image);
