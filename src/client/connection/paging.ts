/**
 * Lists that come in pages.
 *
 * @module
 */

interface Page {
  /** Empty on the last one. */
  readonly nextPageToken: string
}

/** `first`, and the pages after it. An agent that names a page again has no more to say. */
export async function* pagesFrom<P extends Page>(
  first: Promise<P>,
  load: (pageToken: string) => Promise<P>,
): AsyncGenerator<P, undefined> {
  const seen = new Set([''])
  for (let page = await first; ;) {
    yield page
    const { nextPageToken } = page
    if (seen.has(nextPageToken)) return
    seen.add(nextPageToken)
    page = await load(nextPageToken)
  }
}
