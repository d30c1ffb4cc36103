"use strict";
(function () {
  var items = Array.prototype.slice.call(document.querySelectorAll(".tree li"));
  var search = document.getElementById("search");
  var found = document.getElementById("found");
  var texts = null;

  function own(item) {
    var first = item.firstElementChild;
    return (first && first.tagName === "DETAILS" ? first.firstElementChild : item).textContent.toLowerCase();
  }

  function filter() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    texts = texts || items.map(own);
    items.forEach(function (item) { item.hidden = words.length > 0; });
    items.forEach(function (item, index) {
      if (!words.length || !words.every(function (word) { return texts[index].indexOf(word) >= 0; })) return;
      shown += 1;
      item.hidden = false;
      for (var above = item.parentElement; above && !above.classList.contains("tree"); above = above.parentElement) {
        if (above.tagName === "LI") above.hidden = false;
        if (above.tagName === "DETAILS") above.open = true;
      }
    });
    found.textContent = words.length ? shown + " of " + items.length : "";
  }

  document.getElementById("tools").hidden = !items.length;
  search.addEventListener("input", filter);
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && document.activeElement === search) {
      search.value = "";
      filter();
    }
  });
})();
