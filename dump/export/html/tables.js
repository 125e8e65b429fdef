// SPDX-License-Identifier: BSD-2-Clause
// Tables that are sorted by a click on a heading, and shown page by page.

/* Marks what is searched for within a text. */
function marked(text) {
	const at = search.text ? text.toLowerCase().indexOf(search.text) : -1;
	if (at < 0)
		return [text];
	return [text.slice(0, at), make("mark", null, text.slice(at, at + search.text.length)),
		text.slice(at + search.text.length)];
}

/*
 * columns: {title, value(row), text(row), number, code, cell(row)}; options: order (column), descending, page, filter(row),
 * choose(row), chosen(row), empty.
 */
function makeTable(place, columns, rows, options) {
	const state = { order: options.order, descending: options.descending !== false, page: 0 };
	const size = options.page || 200;
	const head = make("tr"), body = make("tbody");
	const pager = make("div", { className: "pager" });
	const table = make("table", { className: "wide" }, make("thead", null, head), body);
	let shown = [];

	columns.forEach((column, i) => {
		const button = make("button", { type: "button" }, column.title);
		button.addEventListener("click", () => {
			state.descending = state.order === i ? !state.descending : !!column.number;
			state.order = i;
			state.page = 0;
			update();
		});
		head.append(make("th", { className: column.number ? "number" : "" }, button));
	});

	function sort() {
		const column = columns[state.order], sign = state.descending ? -1 : 1;
		shown = options.filter ? rows.filter(options.filter) : rows.slice();
		if (!column)
			return;
		shown.sort((a, b) => {
			const left = column.value(a), right = column.value(b);
			return sign * (left < right ? -1 : left > right ? 1 : 0);
		});
	}

	function cellOf(column, row) {
		if (column.cell)
			return column.cell(row);
		const cell = make("td", { className: column.number ? "number" : "words" + (column.code ? " code" : "") });
		const text = column.text ? column.text(row) : String(column.value(row));
		cell.append(...(column.number ? [text] : marked(text)));
		return cell;
	}

	function rowOf(row) {
		const element = make("tr", null, ...columns.map((column) => cellOf(column, row)));
		if (options.choose) {
			element.className = "link" + (options.chosen && options.chosen(row) ? " chosen" : "");
			element.tabIndex = 0;
			element.addEventListener("click", () => options.choose(row));
			element.addEventListener("keydown", (event) => {
				if (event.key === "Enter")
					options.choose(row);
			});
		}
		return element;
	}

	function turnTo(page) {
		state.page = page;
		show();
	}

	function showPager() {
		const pages = Math.max(1, Math.ceil(shown.length / size));
		const before = make("button", { type: "button", disabled: !state.page }, "before");
		const next = make("button", { type: "button", disabled: state.page + 1 >= pages }, "next");
		before.addEventListener("click", () => turnTo(state.page - 1));
		next.addEventListener("click", () => turnTo(state.page + 1));
		const first = shown.length ? state.page * size + 1 : 0, last = Math.min(shown.length, (state.page + 1) * size);
		pager.replaceChildren(before, next, make("span", { className: "dim" },
			`${count(first)} to ${count(last)} of ${count(shown.length)}` +
			(shown.length < rows.length ? `, chosen from ${count(rows.length)}` : "")));
	}

	function show() {
		body.replaceChildren(...shown.slice(state.page * size, (state.page + 1) * size).map(rowOf));
		if (!shown.length)
			body.append(make("tr", null, make("td", { className: "dim", colspan: columns.length },
				options.empty || "nothing")));
		[...head.children].forEach((cell, i) => {
			cell.setAttribute("aria-sort", i !== state.order ? "none" : state.descending ? "descending" : "ascending");
		});
		table.dataset.rows = shown.length;
		showPager();
	}

	function update() {
		sort();
		state.page = Math.min(state.page, Math.max(0, Math.ceil(shown.length / size) - 1));
		show();
	}

	place.append(table, pager);
	update();
	return {
		update,
		/* Turns to the page with the row for which is(row) holds. */
		find(is) {
			const at = shown.findIndex(is);
			if (at >= 0)
				turnTo(Math.floor(at / size));
		},
	};
}

/* Makes a row a link, for the mouse and for the keyboard. */
function linkRow(row, action) {
	row.classList.add("link");
	row.tabIndex = 0;
	row.addEventListener("click", action);
	row.addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			action();
	});
	return row;
}

/* A number with a bar for its share. */
function shareCell(value, whole, text) {
	const bar = make("i");
	bar.style.width = (whole ? Math.min(100, 100 * value / whole) : 0) + "%";
	return make("td", { className: "number" }, text, make("span", { className: "share" }, bar));
}
