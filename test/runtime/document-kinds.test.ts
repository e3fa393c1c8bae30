/** Each kind of the documents beside tasks has one owner. */
import { expect, test } from 'vitest'
import ts from 'typescript'
import * as kinds from '../../src/runtime/document-kinds.js'
import { read, SOURCES } from '../support/repository.js'
import { importsOf, parse } from '../support/source.js'

const REGISTRY = 'runtime/document-kinds.js'
const NAMES = Object.keys(kinds)

/** Functions that take a kind, and where. */
const READERS: Readonly<Record<string, number>> = { documents: 1, allDocuments: 0, open: 2, cancelEnded: 1 }
const WRITERS = ['putDocument', 'deleteDocument']

/** Stores take any kinds. */
const files = SOURCES.filter((path) => !/^(stores|testing)\//.test(path)).map((path) => ({
  ...{ path, text: read(`src/${path}`) },
}))

test('no two have one name, nor begin as the kinds of children do', () => {
  const values = Object.values(kinds)
  expect(new Set(values).size).toBe(values.length)
  expect(values.filter((kind) => kind.startsWith(kinds.CHILD_OF))).toEqual([kinds.CHILD_OF])
})

test('each is used by one part of the package, besides the core', () => {
  const users = files.filter(({ text }) =>
    importsOf(text).some(({ specifier }) => specifier.endsWith(REGISTRY)),
  )
  const parts = (name: string): string[] => {
    const using = users.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text))
    return [...new Set(using.map(({ path }) => path.split('/')[0] ?? ''))].filter((part) => part !== 'core')
  }
  const shared = NAMES.filter((name) => parts(name).length > 1)
  // A handler finds the marks of earlier builds among these.
  expect(shared).toEqual(['SENT_TASK'])
})

test('documents have no other kinds', () => {
  expect(files.flatMap(({ path, text }) => othersIn(text).map((found) => `${path}: ${found}`))).toEqual([])
})

test.each([
  [`documents.documents(key, 'mine')`, `'mine'`],
  [`const KIND = 'mine'; allDocuments(documents, KIND)`, 'KIND'],
  [`putDocument({ key, kind: MINE, id }, 0)`, 'MINE'],
  [`putDocument({ ...document, value }, 0)`, undefined],
  [`documents.allDocuments(kind, after, 1)`, undefined],
  [`documents.documents(key, TRACE)`, undefined],
])('a kind of another name is found: %s', (text, found) => {
  expect(othersIn(text)).toEqual(found === undefined ? [] : [found])
})

/** What is given as a kind, and is neither of the registry nor what a caller has given. */
function othersIn(text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) found.push(...kindsGivenTo(node))
    ts.forEachChild(node, visit)
  }
  visit(parse(text))
  return found.filter((given) => given !== 'kind' && !NAMES.includes(given))
}

function kindsGivenTo({ expression, arguments: given }: ts.CallExpression): string[] {
  const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText()
  // Of the function with this name, and of the method.
  const at = name === 'allDocuments' && ts.isIdentifier(expression) ? 1 : READERS[name]
  if (at !== undefined) {
    const isOther = name === 'open' && expression.getText() !== 'StoredDocument.open'
    const kind = given[at]
    return isOther || kind === undefined ? [] : [kind.getText()]
  }
  const [document] = given
  if (!WRITERS.includes(name) || document === undefined || !ts.isObjectLiteralExpression(document)) return []
  return document.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) && property.name.getText() === 'kind'
      ? [property.initializer.getText()]
      : [],
  )
}
