/**
 * Last step of the build: makes the types of the ES modules those of CommonJS, which ES modules may import.
 *
 * A program that loads both formats has one type of each class, and the package carries its declarations once. They are
 * indented by tabs, which take a quarter of the bytes.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ENTRIES } from './entries.js'

const folder = fileURLToPath(new URL('../dist/', import.meta.url))
for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.d.ts')) rmSync(folder + file)
  if (!file.endsWith('.d.cts')) continue
  const text = readFileSync(folder + file, 'utf8')
  const withTabs = text.replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
  writeFileSync(folder + file, withTabs)
}
for (const name of ENTRIES) writeFileSync(`${folder}${name}.d.ts`, "export * from './index.cjs'\n")
