// Draws what a run says over time: panels of one time axis, with zoom, pan and a cursor that reads them all.
// Data come from the site, a window at a time, or from the page itself (report.html). uPlot does the drawing.
'use strict';
(() => {
  const COLOURS = {
    light: ['#0072b2', '#d55e00', '#009e73', '#b8578f', '#9a6b00', '#2d7fb0', '#7a1f5c', '#5b6b7a'],
    dark: ['#58b2e4', '#e49658', '#58e4be', '#c577a4', '#e4b958', '#65add8', '#d864b2', '#97a5b2'],
  };
  const OTHER = { light: ['#4d5a66', '#8a5a00', '#b00020', '#2b6f4f'], dark: ['#c6d2dd', '#e0b35a', '#ff8a95', '#8fd6b0'] };
  const PANEL_PX = 150, NARROWEST_S = 1e-6, WAIT_MS = 150;
  const dark = window.matchMedia('(prefers-color-scheme: dark)');

  const made = (tag, words = {}, ...inside) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(words)) {
      if (name.startsWith('on')) one.addEventListener(name.slice(2), value);
      else if (value === true) one.setAttribute(name, '');
      else if (value !== false && value !== null) one.setAttribute(name, value);
    }
    one.append(...inside);
    return one;
  };
  const text = (value, digits = 4) => {
    if (value === null || value === undefined) return '–';
    if (value === 0) return '0';
    const size = Math.abs(value);
    return size >= 1e6 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
  };
  const seconds = (t, span) => `${t.toFixed(Math.max(0, Math.min(9, Math.ceil(3 - Math.log10(span || 1)))))} s`;

  // ---- where data come from

  async function embedded(id) {
    const island = document.querySelector(`script[data-run="${CSS.escape(id)}"]`);
    const bytes = Uint8Array.from(atob(island.textContent.trim()), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return JSON.parse(await new Response(plain).text());
  }

  async function fetched(address, span) {
    const query = span ? `?from=${Math.round(span[0] * 1e9)}&to=${Math.round(span[1] * 1e9)}` : '';
    const answer = await fetch(address + query);
    if (!answer.ok) throw new Error(`the series could not be read (${answer.status})`);
    return answer.json();
  }

  // ---- one time axis

  class OverTime {
    constructor(root) {
      this.root = root;
      this.off = new Set();
      this.plots = [];
      this.shown = null;
      this.runs = [];
      this.asked = 0;
      this.say = made('p', { class: 'note', role: 'status' });
      this.time = made('output', { class: 'time' });
      this.bar = made('div', { class: 'bar', role: 'toolbar', 'aria-label': 'time axis' });
      this.panels = made('div', { class: 'panels' });
      const act = (words, name, does) => made('button', { type: 'button', title: name, 'aria-label': name, onclick: does }, words);
      this.bar.append(
        act('Whole run', 'whole run (0)', () => this.zoom(this.whole)), act('+', 'zoom in (+)', () => this.by(0.5)),
        act('−', 'zoom out (−)', () => this.by(2)), act('◀', 'earlier (left arrow)', () => this.move(-0.25)),
        act('▶', 'later (right arrow)', () => this.move(0.25)), this.time,
      );
      root.append(this.bar, this.say, this.panels);
      root.axis = this;
      dark.addEventListener('change', () => this.draw());
      new ResizeObserver(() => this.resize()).observe(this.panels);
    }

    async open(sources, span) {
      const asked = ++this.asked;
      this.sources = sources;
      try {
        const runs = await Promise.all(sources.map((source) => source(span)));
        if (asked !== this.asked) return;
        this.runs = runs;
      } catch (error) {
        this.say.textContent = error.message;
        return;
      }
      this.whole = [Math.min(...this.runs.map((r) => r.whole[0])), Math.max(...this.runs.map((r) => r.whole[1]))];
      this.span ??= span ?? this.whole;
      if (!this.shown) {
        this.shown = new Set(this.keys().filter((key) => this.runs.some((r) => r.panels.some((p) => p.key === key && !p.folded))));
        this.choose();
      }
      this.draw();
    }

    keys() {
      return [...new Set(this.runs.flatMap((run) => run.panels.map((panel) => panel.key)))];
    }

    choose() {
      this.chooser?.remove();
      const boxes = this.keys().map((key) => {
        const panel = this.runs.flatMap((run) => run.panels).find((one) => one.key === key);
        const box = made('input', { type: 'checkbox', checked: this.shown.has(key), onchange: () => {
          if (box.checked) this.shown.add(key); else this.shown.delete(key);
          this.draw();
        } });
        return made('label', {}, box, ` ${panel.title}`);
      });
      this.chooser = made('details', { class: 'chooser' }, made('summary', {}, `Panels: ${this.shown.size} of ${boxes.length}`), ...boxes);
      this.bar.after(this.chooser);
    }

    colour(run, line, nth) {
      const kind = dark.matches ? 'dark' : 'light';
      if (line.item === null) return line.name === 'dropped' ? OTHER[kind][2] : OTHER[kind][nth % OTHER[kind].length];
      const name = run.items[line.item], first = this.runs[0];
      const place = first.items.indexOf(name);
      return COLOURS[kind][(place >= 0 ? first.colours[place] : run.colours[line.item]) % COLOURS[kind].length];
    }

    draw() {
      this.plots.forEach((plot) => plot.destroy());
      this.plots = [];
      const before = this.panels.getBoundingClientRect().height;
      this.panels.style.minHeight = `${before}px`;
      this.panels.replaceChildren();
      for (const key of this.keys().filter((one) => this.shown.has(one))) this.panel(key);
      this.panels.style.minHeight = '';
      this.tell();
    }

    panel(key) {
      const lines = [];
      let first = null;
      this.runs.forEach((run, k) => {
        const panel = run.panels.find((one) => one.key === key);
        if (!panel) return;
        first ??= panel;
        panel.lines.forEach((line, nth) => lines.push({ ...line, run: k, colour: this.colour(run, line, nth), id: `${k} ${line.name}` }));
      });
      const style = getComputedStyle(this.root);
      const ink = style.getPropertyValue('--soft').trim(), grid = style.getPropertyValue('--line').trim();
      const tables = [], series = [{}], bands = [], values = [];
      for (const line of lines) {
        const on = !this.off.has(line.id), at = series.length;
        const table = [line.t, line.v];
        const drawn = {
          label: line.name, show: on, stroke: line.colour, width: line.style === 'bars' ? 0 : 1.5, dash: line.run ? [5, 4] : undefined,
          points: { show: line.style === 'points' ? true : line.t.length < 3, size: line.name === 'dropped' ? 7 : 4, fill: line.run ? 'transparent' : line.colour, stroke: line.colour },
        };
        if (line.style === 'points') drawn.paths = () => null;
        if (line.style === 'step') drawn.paths = uPlot.paths.stepped({ align: 1 });
        if (line.style === 'bars') {
          drawn.paths = uPlot.paths.bars({ size: [1, 12] });
          drawn.fill = line.run ? `${line.colour}66` : line.colour;
          drawn.points.show = false;
        }
        series.push(drawn);
        if (line.lo) {
          table.push(line.lo, line.hi);
          const none = { show: on, width: 0, stroke: 'transparent', points: { show: false } };
          series.push({ ...none }, { ...none });
          bands.push({ series: [at + 2, at + 1], fill: `${line.colour}2e` });
        }
        tables.push(table);
        const value = made('span', { class: 'value' });
        const button = made('button', {
          type: 'button', class: 'line', 'aria-pressed': String(on), title: 'show or hide it in all panels', onclick: () => this.toggle(line.id),
        }, made('span', { class: line.run ? 'swatch second' : 'swatch' }), this.runs.length > 1 ? `${'AB'[line.run]} · ${line.name} ` : `${line.name} `, value);
        button.firstChild.style.borderColor = line.colour;
        values.push({ at, value, button, line });
      }
      const where = made('div', { class: 'plot' });
      const title = `${first.title} ${first.unit ? `[${first.unit}]` : ''}`;
      const wide = Math.max(240, this.panels.clientWidth);
      this.panels.append(made('section', { 'aria-label': title }, made('h3', {}, title, made('small', {}, first.note)),
        made('div', { class: 'lines' }, ...values.map((one) => one.button)), where));
      const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '12px system-ui, sans-serif' };
      const plot = new uPlot({
        width: wide, height: PANEL_PX, series, bands, legend: { show: false },
        padding: [8, 12, 0, 0],
        scales: { x: { time: false, range: () => this.span }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.06 : 1] } },
        axes: [{ ...axis, size: 30, values: (_, at) => at.map((t) => text(t, 9)) }, { ...axis, size: 58, values: (_, at) => at.map((v) => text(v)) }],
        cursor: {
          sync: { key: 'narrows', setSeries: false }, drag: { x: true, y: false, setScale: false }, y: false,
          points: { size: 6 },
          dataIdx: (u, k, i) => near(u.data[k], i),
          bind: { dblclick: () => () => this.zoom(this.whole) },
        },
        hooks: {
          setSelect: [(u) => {
            if (u.select.width < 4) return;
            const span = [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')];
            u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
            this.zoom(span);
          }],
          setCursor: [(u) => {
            for (const one of values) {
              const i = u.cursor.idxs?.[one.at];
              one.value.textContent = i === null || i === undefined || u.cursor.left < 0 ? '' : text(u.data[one.at][i]);
            }
            if (u.cursor.left >= 0) this.time.textContent = `t = ${seconds(u.posToVal(u.cursor.left, 'x'), this.span[1] - this.span[0])}`;
            else this.tell();
          }],
        },
      }, uPlot.join(tables), where);
      plot.over.addEventListener('wheel', (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        const turned = event.deltaY || event.deltaX;
        if (event.shiftKey) this.move(Math.sign(turned) * 0.1);
        else this.by(turned > 0 ? 1.25 : 0.8, plot.posToVal(event.offsetX, 'x'));
      }, { passive: false });
      plot.lines = values;
      this.plots.push(plot);
    }

    toggle(id) {
      if (this.off.has(id)) this.off.delete(id); else this.off.add(id);
      for (const plot of this.plots) {
        for (const { at, button, line } of plot.lines) {
          if (line.id !== id) continue;
          const on = !this.off.has(id);
          button.setAttribute('aria-pressed', String(on));
          for (const k of line.lo ? [at, at + 1, at + 2] : [at]) plot.setSeries(k, { show: on });
        }
      }
    }

    tell() {
      if (this.span) this.time.textContent = `${seconds(this.span[0], this.span[1] - this.span[0])} to ${seconds(this.span[1], this.span[1] - this.span[0])}`;
    }

    zoom(span) {
      const [from, to] = [Math.max(span[0], this.whole[0]), Math.min(span[1], this.whole[1])];
      if (to - from < NARROWEST_S) return;
      this.span = [from, to];
      this.plots.forEach((plot) => plot.redraw(true, true));
      this.plots.forEach((plot) => plot.setScale('x', { min: from, max: to }));
      this.tell();
      if (!this.root.dataset.source) return;
      const whole = from === this.whole[0] && to === this.whole[1];
      history.replaceState(null, '', whole ? location.pathname + location.search : `#t=${from.toPrecision(9)},${to.toPrecision(9)}`);
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.open(this.sources, this.span), WAIT_MS);
    }

    by(factor, around = (this.span[0] + this.span[1]) / 2) {
      this.zoom([around - (around - this.span[0]) * factor, around + (this.span[1] - around) * factor]);
    }

    move(share) {
      const wide = this.span[1] - this.span[0];
      const from = Math.min(Math.max(this.span[0] + share * wide, this.whole[0]), this.whole[1] - wide);
      this.zoom([from, from + wide]);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
      const inside = this.root.contains(event.target) && { ArrowLeft: () => this.move(-0.25), ArrowRight: () => this.move(0.25) };
      const does = {
        ...inside, '+': () => this.by(0.5), '=': () => this.by(0.5), '-': () => this.by(2), 0: () => this.zoom(this.whole),
      }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    }

    resize() {
      const wide = Math.max(240, this.panels.clientWidth);
      this.plots.forEach((plot) => { if (plot.width !== wide) plot.setSize({ width: wide, height: PANEL_PX }); });
    }
  }

  // The nearest value of a series: where several series of other times are joined, most places have none.
  function near(values, i) {
    for (let far = 0; far < 400; far++) {
      if (values[i - far] !== undefined && values[i - far] !== null) return i - far;
      if (values[i + far] !== undefined && values[i + far] !== null) return i + far;
    }
    return null;
  }

  function start(root) {
    if (root.dataset.source) {
      const asked = /^#t=([\d.e+-]+),([\d.e+-]+)$/.exec(location.hash);
      const axis = new OverTime(root);
      const sources = [root.dataset.source, root.dataset.beside].filter(Boolean);
      axis.open(sources.map((one) => (span) => fetched(one, span)), asked ? [Number(asked[1]), Number(asked[2])] : undefined);
      return;
    }
    let axis = null;
    const [one, other] = root.querySelectorAll('select');
    const opened = () => {
      axis?.panels.parentElement && [axis.bar, axis.say, axis.panels, axis.chooser].forEach((part) => part?.remove());
      axis = new OverTime(root);
      axis.open([one.value, other?.value].filter(Boolean).map((id) => () => embedded(id)));
    };
    one.addEventListener('change', opened);
    other?.addEventListener('change', opened);
    opened();
  }

  window.addEventListener('DOMContentLoaded', () => {
    if (!window.uPlot) return;
    const roots = [...document.querySelectorAll('.over-time')];
    roots.forEach(start);
    // Wherever the focus is, in a table too; the arrows of what scrolls are its own.
    document.addEventListener('keydown', (event) => roots[0]?.axis?.key(event));
  });
})();
