"use strict";
(function () {
  var articles = Array.prototype.slice.call(document.querySelectorAll("article"));
  var search = document.getElementById("search");
  var fold = document.getElementById("fold");
  var found = document.getElementById("found");
  var texts = null;

  function filter() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    texts = texts || articles.map(function (article) { return article.textContent.toLowerCase(); });
    articles.forEach(function (article, index) {
      article.hidden = !words.every(function (word) { return texts[index].indexOf(word) >= 0; });
      shown += article.hidden ? 0 : 1;
    });
    found.textContent = words.length ? shown + " of " + articles.length : "";
  }

  function show() {
    var target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "ARTICLE") {
      target.firstElementChild.open = true;
      target.scrollIntoView();
    }
  }

  document.getElementById("tools").hidden = !articles.length;
  search.addEventListener("input", filter);
  fold.addEventListener("click", function () {
    var open = fold.textContent === "Unfold all";
    articles.forEach(function (article) { article.firstElementChild.open = open; });
    fold.textContent = open ? "Fold all" : "Unfold all";
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && document.activeElement === search) {
      search.value = "";
      filter();
    }
  });
  window.addEventListener("hashchange", show);
  show();
})();
