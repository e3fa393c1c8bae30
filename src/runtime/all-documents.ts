/**
 * Documents of one kind, page by page.
 *
 * @module
 */

interface Cursor {
  readonly taskId: string
  readonly createdAt: string
  readonly id: string
}

interface Placed {
  readonly key: { readonly id: string; readonly createdAt: string }
  readonly id: string
}

/** The used part of `TaskDocuments`. */
interface Documents<D> {
  allDocuments(kind: string, after: Cursor | undefined, limit: number): Promise<readonly D[]>
}

/** All documents of a kind. The next page is read when those of the one before are done with. */
export async function* allDocuments<D extends Placed>(
  documents: Documents<D>,
  kind: string,
  pageSize = 100,
): AsyncGenerator<D, undefined> {
  let after: Cursor | undefined
  do {
    const page: readonly D[] = await documents.allDocuments(kind, after, pageSize)
    yield* page
    const last = page.length < pageSize ? undefined : page.at(-1)
    after = last && { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
  } while (after !== undefined)
}
