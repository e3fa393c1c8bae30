/**
 * Last step of the build: makes the types of the ES modules those of CommonJS, which ES modules may import.
 *
 * A program that loads both formats has one type of each class, and the package carries its declarations once. Tabs take a
 * quarter of the bytes of spaces.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ENTRIES } from './entries.js'

/** Comments about the files of the sources, which say nothing of the declaration that follows. */
const FILE_HEADERS = /^\/\*\*\n(?: \*(?!\/).*\n)*? \* @module\n \*\/\n+/gm
const folder = fileURLToPath(new URL('../dist/', import.meta.url))
for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.d.ts')) rmSync(folder + file)
  if (!file.endsWith('.d.cts')) continue
  const text = readFileSync(folder + file, 'utf8')
  const withTabs = text.replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
  writeFileSync(folder + file, withTabs.replace(FILE_HEADERS, ''))
}
for (const name of ENTRIES) writeFileSync(`${folder}${name}.d.ts`, "export * from './index.cjs'\n")
