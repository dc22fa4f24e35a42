(function () {
  var root = document.documentElement, button = document.querySelector(".theme");
  var order = ["auto", "dark", "light"];
  function show(mode) {
    if (mode === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", mode);
    if (!button) return;
    button.textContent = "Theme: " + mode;
    button.dataset.mode = mode;
  }
  function kept() {
    try { return localStorage.getItem("headwater-theme") || "auto"; } catch (e) { return "auto"; }
  }
  show(order.indexOf(kept()) < 0 ? "auto" : kept());
  if (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var mode = order[(order.indexOf(button.dataset.mode) + 1) % order.length];
      show(mode);
      try { localStorage.setItem("headwater-theme", mode); } catch (e) { /* private window */ }
    });
  }
  function key(row, i) { return row.cells[i].dataset.s || ""; }
  function sort(head, i) {
    var table = head.closest("table"), body = table.tBodies[0];
    var up = head.getAttribute("aria-sort") !== "ascending";
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = key(a, i), y = key(b, i);
      if (x === "" || y === "") return x === y ? 0 : x === "" ? 1 : -1;
      var n = isNaN(x) || isNaN(y) ? x.localeCompare(y) : Number(x) - Number(y);
      return up ? n : -n;
    });
    rows.forEach(function (row) { body.appendChild(row); });
    Array.prototype.forEach.call(head.parentNode.cells, function (c) { c.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  }
  Array.prototype.forEach.call(document.querySelectorAll("table.sortable"), function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, i) {
      var text = document.createElement("button");
      text.type = "button";
      while (head.firstChild) text.appendChild(head.firstChild);
      head.appendChild(text);
      text.addEventListener("click", function () { sort(head, i); });
    });
  });
})();
