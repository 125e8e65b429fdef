// SPDX-License-Identifier: BSD-2-Clause
// Events by provider, gaps, losses and damage.

const eventView = { provider: "", zeros: false };

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

/* "Kernel" of "Kernel/Process/Start". */
const providerOf = (row) => row.name.slice(0, (row.name + "/").indexOf("/"));

/* Fields without a value: 0, an empty text, nothing. A text in quotation marks is one value. */
const FIELD = /(?:^|\s+)[^\s="]+=(?:"(?:[^"\\]|\\.)*"|\S*)/g;
function withoutZeros(text) {
	let zeros = 0;
	const kept = text.replace(FIELD, (field) => {
		if (!/=(?:-?0(?:x0+|\.0+)?|""|-|)$/.test(field))
			return field;
		zeros++;
		return "";
	});
	return zeros ? `${kept.trim()}  (+${zeros} zero)` : text;
}

function goTo(time) {
	showView("timeline");
	const span = Math.min(timeline.to - timeline.from, (timeline.last - timeline.first) / 20);
	timelineSet(time - span / 2, time + span / 2);
}

function eventBar() {
	const totals = new Map();
	for (const row of events())
		totals.set(providerOf(row), (totals.get(providerOf(row)) || 0) + 1);
	const field = make("select", { id: "event-provider" }, make("option", { value: "" }, `all providers (${count(events().length)})`),
		...[...totals].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([name, total]) => make("option", { value: name }, `${name} (${count(total)})`)));
	const zeros = make("input", { type: "checkbox", id: "event-zeros", checked: eventView.zeros });
	field.value = eventView.provider;
	field.addEventListener("change", () => {
		eventView.provider = field.value;
		tables.events.update();
		pageRemember();
	});
	zeros.addEventListener("change", () => {
		eventView.zeros = zeros.checked;
		tables.events.update();
	});
	return make("div", { className: "bar" }, make("label", null, "provider ", field), make("label", null, zeros, " fields that are zero"));
}

const isOfProvider = (row) => !eventView.provider || providerOf(row) === eventView.provider;

function showEvents() {
	if (tables.events) {
		byId("event-provider").value = eventView.provider;
		tables.events.update();
		return;
	}
	const id = (value) => (value === null ? "-" : String(value));
	byId("view-events").replaceChildren(eventBar());
	tables.events = makeTable(byId("view-events"), [
		{ title: "time", number: true, value: (row) => row.time, text: (row) => moment(row.time) },
		{ title: "event", value: (row) => row.name },
		{ title: "process", number: true, value: (row) => row.pid, text: (row) => id(row.pid) },
		{ title: "thread", number: true, value: (row) => row.tid, text: (row) => id(row.tid) },
		{ title: "what it says", value: (row) => row.text, code: true, text: (row) => (eventView.zeros ? row.text : withoutZeros(row.text)) },
	], events(), { order: 0, descending: false, filter: (row) => isOfProvider(row) && (!search.text || eventMatches(row)),
		choose: (row) => row.time !== null && goTo(row.time), empty: "no event" });
}

/* A loss leads to its time, or to its process. */
function lossShow(row) {
	const process = sideData("processes").find((one) => one.pid === row.pid);
	if (row.first_time !== null && row.first_time !== undefined)
		goTo(row.first_time);
	else if (process)
		showProcess(process);
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
	], losses, { order: 1, choose: lossShow, empty: "no loss" });
	place.append(make("h2", null, "Damage: what of the file could not be read"));
	makeTable(place, [
		{ title: "offset", number: true, value: (row) => row.offset, text: (row) => count(row.offset) },
		{ title: "bytes", number: true, value: (row) => row.size, text: (row) => count(row.size) },
		{ title: "what is wrong", value: (row) => row.text },
	], damage, { order: 0, descending: false, empty: "no damage" });
}

