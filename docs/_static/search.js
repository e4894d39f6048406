/* Rank pages by all words of a query, on top of searchtools.js of Sphinx.

Sphinx shows only pages that have every word, and ranks a page by its best word. Here a page gets
the sum over the words: a word counts by where it is, and more if few pages have it. KEYWORDS are
the keywords of each page (docs/conf.py). */
"use strict";

{
  const PLACES = { title: 4, keywords: 4, heading: 2, text: 1 };
  const BEST = 30; // every word in the title: more than Sphinx gives to a heading
  const LEAST = BEST / 8; // half of the words, somewhere in the text
  const stemmer = new Stemmer();
  const stems = (text) =>
    new Set(splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word)));

  /* Return the place of a word on each page that has it. */
  const placesOf = (word, index, fields) => {
    const places = new Map();
    const add = (pages, place) =>
      [pages ?? []].flat().forEach((page) => {
        places.set(page, Math.max(places.get(page) ?? 0, place));
      });
    const own = (terms) => (Object.hasOwn(terms, word) ? terms[word] : []);
    add(own(index.terms), PLACES.text);
    add(own(index.titleterms), PLACES.heading);
    for (const [page, field] of fields.entries()) {
      if (field.keywords.has(word)) add(page, PLACES.keywords);
      if (field.title.has(word)) add(page, PLACES.title);
    }
    if (!places.size && word.length > 2) {
      for (const [terms, place] of [[index.terms, PLACES.text], [index.titleterms, PLACES.heading]])
        for (const term of Object.keys(terms))
          if (term.includes(word)) add(terms[term], place / 2);
    }
    return places;
  };

  /* Return the share of a title's words that the query has: a short title comes first. */
  const shareOfTitle = (title, words) => {
    const own = [...title].filter((word) => !stopwords.has(word));
    return own.length ? own.filter((word) => words.has(word)).length / own.length : 0;
  };

  Search.performTermsSearch = (words) => {
    const index = Search._index;
    const fields = index.docnames.map((name, page) => ({
      title: name in KEYWORDS ? stems(index.titles[page]) : new Set(),
      keywords: stems(KEYWORDS[name] ?? ""),
    }));
    const found = [...words]
      .map((word) => placesOf(word, index, fields))
      .filter((places) => places.size)
      .map((places) => ({ places, weight: Math.log(1 + index.docnames.length / places.size) }));
    const most = PLACES.title * found.reduce((sum, { weight }) => sum + weight, 0);

    return index.docnames.flatMap((name, page) => {
      const points = found.reduce(
        (sum, { places, weight }) => sum + (places.get(page) ?? 0) * weight,
        0,
      );
      const score = (BEST * points) / most + shareOfTitle(fields[page].title, words);
      if (!points || score < LEAST) return [];
      const text = SearchResultKind.text;
      return [[name, index.titles[page], "", null, score, index.filenames[page], text]];
    });
  };
}
