(function () {
  "use strict";
  var HEIGHT = 18, NAMES = ["Python", "Cython", "native", "gap", "task", "thread", "process"];
  var data = JSON.parse(document.getElementById("data").textContent);
  var nodes = data.nodes, frames = data.frames, strings = data.strings;
  var element = function (id) { return document.getElementById(id); };
  var graph = element("graph"), canvas = element("canvas"), pen = canvas.getContext("2d");
  var search = element("search"), order = element("order"), tip = element("tip");
  var shape, from, to, focus, selected = -1, matches = null, upward = false, waiting = false;

  // Boxes: the root is number 0, a parent stands before its children, a row from left to right.
  function boxes() {
    return { node: [], parent: [], depth: [], start: [], end: [], rows: [] };
  }
  function add(made, node, parent, depth, start, end) {
    var number = made.node.length;
    made.node.push(node);
    made.parent.push(parent);
    made.depth.push(depth);
    made.start.push(start);
    made.end.push(end);
    (made.rows[depth] = made.rows[depth] || []).push(number);
    return number;
  }
  // Nodes come in the order of a walk, siblings by name.
  var depths = [0], parents = [-1];
  for (var i = 1; i < nodes.frame.length; i++) {
    parents[i] = i - nodes.up[i];
    depths[i] = depths[parents[i]] + 1;
  }
  function byName() {
    var made = boxes(), next = [];
    for (var i = 0; i < nodes.frame.length; i++) {
      var start = i ? next[parents[i]] : 0;
      if (i)
        next[parents[i]] += nodes.total[i];
      next[i] = start;
      add(made, i, parents[i], depths[i], start, start + nodes.total[i]);
    }
    return made;
  }
  function byTime(thread) {
    var made = boxes(), at = 0, open = [0];
    add(made, 0, -1, 0, 0, 0);
    thread.stacks.forEach(function (node, run) {
      var path = [];
      for (var i = node; i > 0 && !(depths[i] < open.length && made.node[open[depths[i]]] === i); i = parents[i])
        path.push(i);
      open.length = depths[i] + 1;
      while (path.length) {
        var one = path.pop();
        open.push(add(made, one, open[open.length - 1], depths[one], at, at));
      }
      at += thread.weights[run];
      open.forEach(function (box) { made.end[box] = at; });
    });
    return made;
  }

  function name(box) {
    var frame = nodes.frame[shape.node[box]];
    return frame < 0 ? "all" : strings[frames.name[frame]];
  }
  function place(box) {
    var frame = nodes.frame[shape.node[box]];
    if (frame < 0)
      return "";
    var file = frames.file[frame], line = frames.line[frame];
    return (file ? strings[file] : strings[frames.library[frame]]) + (line ? ":" + line : "");
  }
  function label(box) {
    var at = place(box);
    return name(box) + (at ? " (" + at.slice(at.lastIndexOf("/") + 1) + ")" : "");
  }
  function percent(part, whole) {
    var share = whole ? 100 * part / whole : 0;
    return (share >= 10 || !share ? share.toFixed(1) : share.toPrecision(2)) + " %";
  }
  function amount(count) {
    var ms = data.cpu ? count / 1e6 : count * data.interval_ms;
    var time = ms < 1000 ? ms.toPrecision(3) + " ms" : (ms / 1000).toFixed(2) + " s";
    return data.cpu ? time + " of processor time" : count + (count === 1 ? " sample" : " samples") + " (" + time + ")";
  }
  function describe(box) {
    var total = shape.end[box] - shape.start[box], whole = shape.end[0], frame = nodes.frame[shape.node[box]];
    var own = total;
    if (order.value === "name")
      own = nodes.own[shape.node[box]];
    var text = name(box) + (place(box) ? "\n" + place(box) : "") + "\n" +
      (frame < 0 ? "" : NAMES[frames.kind[frame]] + ", ") + amount(total) + ", " + percent(total, whole);
    if (order.value === "name")
      text += "; itself " + amount(own) + ", " + percent(own, whole);
    return text;
  }

  function hue(frame) {
    var text = frame < 0 ? "" : strings[frames.name[frame]], hash = 7;
    for (var i = 0; i < text.length; i++)
      hash = (hash * 31 + text.charCodeAt(i)) & 0xffff;
    return hash / 0xffff;
  }
  var colors = [];
  function color(frame) {
    if (frame < 0)
      return "hsl(0 0% 75%)";
    if (!colors[frame]) {
      var part = hue(frame);
      colors[frame] = [
        "hsl(" + (36 + 14 * part) + " 78% " + (58 + 12 * part) + "%)",
        "hsl(" + (6 + 14 * part) + " 68% " + (62 + 8 * part) + "%)",
        "hsl(" + (205 + 20 * part) + " 42% " + (62 + 10 * part) + "%)",
        "hsl(0 0% 69%)"][Math.min(frames.kind[frame], 3)];
    }
    return colors[frame];
  }

  function rowAt(y) {
    var row = Math.floor(y / HEIGHT);
    return upward ? shape.rows.length - 1 - row : row;
  }
  function yOf(depth) {
    return (upward ? shape.rows.length - 1 - depth : depth) * HEIGHT;
  }
  // The first box of a row that ends behind a place.
  function firstBehind(row, at) {
    var low = 0, high = row.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (shape.end[row[middle]] <= at)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  function drawBox(box, width, top) {
    var scale = width / (to - from);
    var left = Math.max(0, (shape.start[box] - from) * scale), right = Math.min(width, (shape.end[box] - from) * scale);
    if (right - left < 1)
      return;
    var frame = nodes.frame[shape.node[box]], found = matches && frame >= 0 && matches[frame];
    var y = yOf(shape.depth[box]) - top, gap = right - left > 3 ? 1 : 0;
    pen.globalAlpha = matches && !found ? 0.35 : shape.depth[box] < shape.depth[focus] ? 0.6 : 1;
    pen.fillStyle = found ? "#d63fd6" : color(frame);
    pen.fillRect(left, y, right - left - gap, HEIGHT - 1);
    if (box === selected) {
      pen.globalAlpha = 1;
      pen.strokeStyle = "#000";
      pen.strokeRect(left + 0.5, y + 0.5, Math.max(0, right - left - gap - 1), HEIGHT - 2);
    }
    var letters = Math.floor((right - left - 6) / letter);
    if (letters < 3)
      return;
    var text = label(box);
    pen.globalAlpha = 1;
    pen.fillStyle = "#000";
    pen.fillText(text.length > letters ? text.slice(0, letters - 1) + "\u2026" : text, left + 3, y + HEIGHT / 2);
  }
  var letter = 7;
  function draw() {
    waiting = false;
    var ratio = window.devicePixelRatio || 1, width = graph.clientWidth, height = graph.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    element("space").style.height = Math.max(shape.rows.length * HEIGHT, height) + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    pen.textBaseline = "middle";
    letter = pen.measureText("M").width;
    var top = graph.scrollTop;
    for (var y = Math.floor(top / HEIGHT) * HEIGHT; y < top + height; y += HEIGHT) {
      var row = shape.rows[rowAt(y)];
      if (!row)
        continue;
      for (var i = firstBehind(row, from); i < row.length && shape.start[row[i]] < to; i++)
        drawBox(row[i], width, top);
    }
  }
  function later() {
    if (!waiting) {
      waiting = true;
      window.requestAnimationFrame(draw);
    }
  }

  function hit(event) {
    var area = graph.getBoundingClientRect();
    var x = event.clientX - area.left, row = shape.rows[rowAt(event.clientY - area.top + graph.scrollTop)];
    if (!row)
      return -1;
    var at = from + x / graph.clientWidth * (to - from), box = row[firstBehind(row, at)];
    return box !== undefined && shape.start[box] <= at ? box : -1;
  }
  function zoom(box) {
    focus = box;
    from = shape.start[box];
    to = shape.end[box];
    sum();
    later();
  }
  function select(box) {
    selected = box;
    element("about").textContent = box < 0 ? "" : describe(box).replace(/\n/g, " \u00b7 ");
    later();
  }
  function reveal(box) {
    var y = yOf(shape.depth[box]);
    if (y < graph.scrollTop || y + HEIGHT > graph.scrollTop + graph.clientHeight)
      graph.scrollTop = Math.max(0, y - graph.clientHeight / 2);
    select(box);
  }

  // Of a search: which frames, and the share of samples that go through one of them.
  function find() {
    var wanted = search.value, test = null;
    if (/^\/.+\/$/.test(wanted)) {
      try {
        var expression = new RegExp(wanted.slice(1, -1), "i");
        test = function (text) { return expression.test(text); };
      } catch (error) {
        test = null;
      }
    }
    if (!test)
      test = function (text) { return text.toLowerCase().indexOf(wanted.toLowerCase()) >= 0; };
    matches = null;
    if (wanted) {
      var texts = {};
      Object.keys(strings).forEach(function (key) { texts[key] = strings[key] !== "" && test(strings[key]); });
      matches = frames.name.map(function (text, frame) {
        return texts[text] || texts[frames.file[frame]] || texts[frames.library[frame]];
      });
    }
    sum();
    later();
  }
  function sum() {
    var inside = [], total = 0;
    for (var box = 0; matches && box < shape.node.length; box++) {
      var parent = shape.parent[box], frame = nodes.frame[shape.node[box]];
      inside[box] = (parent >= 0 && inside[parent]) || (frame >= 0 && matches[frame]);
      if (inside[box] && !(parent >= 0 && inside[parent]))
        total += Math.max(0, Math.min(shape.end[box], to) - Math.max(shape.start[box], from));
    }
    element("found").textContent = matches ? percent(total, to - from) + ", " + amount(total) : "";
  }

  function show() {
    shape = order.value === "name" ? byName() : byTime(data.threads[Number(order.value)]);
    selected = -1;
    element("about").textContent = "";
    if (upward)
      graph.scrollTop = shape.rows.length * HEIGHT;
    zoom(0);
  }
  function move(key) {
    var box = selected < 0 ? 0 : selected, row = shape.rows[shape.depth[box]], at = row.indexOf(box), inner = null;
    var inward = upward ? "ArrowUp" : "ArrowDown", outward = upward ? "ArrowDown" : "ArrowUp";
    if (selected < 0)
      return reveal(0);
    if (key === outward && shape.parent[box] >= 0)
      return reveal(shape.parent[box]);
    if (key === "ArrowLeft" && at > 0)
      return reveal(row[at - 1]);
    if (key === "ArrowRight" && at + 1 < row.length)
      return reveal(row[at + 1]);
    (key === inward ? shape.rows[shape.depth[box] + 1] || [] : []).forEach(function (one) {
      var size = shape.end[one] - shape.start[one];
      if (shape.parent[one] === box && (inner === null || size > shape.end[inner] - shape.start[inner]))
        inner = one;
    });
    if (inner !== null)
      reveal(inner);
  }

  // Functions: a sample counts once for each that is in its stack.
  function list() {
    var rows = {}, open = {}, path = [], body = element("functions");
    for (var i = 1; i < nodes.frame.length; i++) {
      while (path.length >= depths[i])
        open[path.pop()]--;
      var frame = nodes.frame[i];
      var key = frames.name[frame] + " " + frames.file[frame] + " " + frames.library[frame];
      var row = rows[key] = rows[key] || { frame: frame, own: 0, total: 0 };
      row.own += nodes.own[i];
      if (!open[key])
        row.total += nodes.total[i];
      open[key] = (open[key] || 0) + 1;
      path.push(key);
    }
    Object.keys(rows).map(function (key) { return rows[key]; }).sort(function (one, other) {
      return other.own - one.own || other.total - one.total;
    }).slice(0, 200).forEach(function (row) {
      var line = body.insertRow(), button = document.createElement("button");
      [percent(row.own, nodes.total[0]), percent(row.total, nodes.total[0])].forEach(function (text) {
        var cell = line.insertCell();
        cell.className = "n";
        cell.textContent = text;
      });
      button.type = "button";
      button.textContent = strings[frames.name[row.frame]];
      button.addEventListener("click", function () { search.value = button.textContent; find(); });
      line.insertCell().appendChild(button);
      line.insertCell().textContent = strings[frames.file[row.frame]] || strings[frames.library[row.frame]];
    });
  }

  data.threads.forEach(function (thread, number) {
    var option = document.createElement("option");
    option.value = String(number);
    option.textContent = "time order: " + thread.name;
    order.appendChild(option);
  });
  graph.addEventListener("scroll", function () { tip.hidden = true; later(); });
  graph.addEventListener("mousemove", function (event) {
    var box = hit(event);
    tip.hidden = box < 0;
    if (box >= 0) {
      tip.textContent = describe(box);
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = (event.clientY + 18 + tip.offsetHeight > window.innerHeight ?
        event.clientY - tip.offsetHeight - 8 : event.clientY + 18) + "px";
    }
  });
  graph.addEventListener("mouseleave", function () { tip.hidden = true; });
  graph.addEventListener("click", function (event) {
    var box = hit(event);
    if (box >= 0) {
      select(box);
      zoom(box);
    }
  });
  graph.addEventListener("keydown", function (event) {
    if (/^Arrow/.test(event.key)) {
      move(event.key);
      event.preventDefault();
    } else if (event.key === "Enter" && selected >= 0)
      zoom(selected);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== search) {
      search.focus();
      event.preventDefault();
    } else if (event.key === "Escape" && search.value) {
      search.value = "";
      find();
    } else if (event.key === "Escape")
      zoom(0);
  });
  search.addEventListener("input", find);
  order.addEventListener("change", show);
  element("reset").addEventListener("click", function () { zoom(0); });
  element("turn").addEventListener("click", function () {
    upward = !upward;
    graph.scrollTop = upward ? shape.rows.length * HEIGHT : 0;
    later();
  });
  window.addEventListener("resize", later);
  element("tools").hidden = false;
  list();
  show();
  draw();
})();
