/**
 * Last step of the build: gives the ES modules the declarations of the CommonJS modules.
 *
 * A program that loads both formats has one type of each class. An ES module may import a CommonJS one, and not the other way
 * round.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ENTRIES } from './entries.js'

const folder = fileURLToPath(new URL('../dist/', import.meta.url))
for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.d.ts')) rmSync(folder + file)
}
for (const name of ENTRIES) writeFileSync(`${folder}${name}.d.ts`, "export * from './index.cjs'\n")
