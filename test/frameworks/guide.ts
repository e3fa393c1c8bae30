/**
 * The tables of the guides.
 *
 * @module
 */
import { read } from '../support/repository.js'

/** The first column of the table under this heading of a guide. */
export function rowsOf(guide: string, heading: string): string[] {
  const [, table = ''] =
    new RegExp(`^## ${heading}\n\n([^]*?)\n(?:\n|$)`, 'm').exec(read(`docs/guides/${guide}.md`)) ?? []
  return table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1]?.trim() ?? '')
}
