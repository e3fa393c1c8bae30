/**
 * Links that a page may show.
 *
 * @module
 */

/** Whether a page may show it as a link or an image: an agent could name code that runs in the page. */
export function isLink(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\//i.test(url)
}
