/**
 * Imports and global names of a source file.
 *
 * @module
 */
import ts from 'typescript'
import { ENTRIES, ROOT } from './repository.js'

export interface Import {
  readonly specifier: string
  /** Gone when compiled. `import { type X }` is not: `verbatimModuleSyntax` leaves an `import {}` of it. */
  readonly typeOnly: boolean
}

let entries: ts.Program | undefined

/** The entries of the package and all that they import. The compiler takes seconds to read them: once in a process. */
export function entriesProgram(): ts.Program {
  if (entries !== undefined) return entries
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: unknown }
  }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const files = ENTRIES.map((entry) => `${ROOT}src${entry}/index.ts`)
  return (entries = ts.createProgram(files, options))
}

export function parse(text: string): ts.SourceFile {
  return ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true)
}

export function importsOf(text: string): Import[] {
  const imports: Import[] = []
  visit(parse(text), (node) => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true)
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    }
  })
  return imports

  function add(specifier: ts.Node | undefined, typeOnly: boolean): void {
    if (specifier !== undefined && ts.isStringLiteral(specifier)) {
      imports.push({ specifier: specifier.text, typeOnly })
    }
  }
}

/** What the code reads, calls and makes: `console`, `Math.random`, `Date()`, `new Date()`, …, local names included. */
export function reads(text: string): string[] {
  const names: string[] = []
  visit(parse(text), (node) => {
    if (ts.isIdentifier(node) && isRead(node)) names.push(node.text)
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      names.push(`${node.expression.text}.${node.name.text}`)
    }
    if (ts.isNewExpression(node) && ts.isIdentifier(node.expression) && !node.arguments?.length) {
      names.push(`new ${node.expression.text}()`)
    }
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      names.push(`${node.expression.text}()`)
    }
  })
  return names
}

export function usesAny(text: string): boolean {
  let found = false
  visit(parse(text), (node) => {
    found ||= node.kind === ts.SyntaxKind.AnyKeyword
  })
  return found
}

function isRead(node: ts.Identifier): boolean {
  if (ts.isShorthandPropertyAssignment(node.parent)) return true
  // What a declaration, a property or a member access calls something is no read.
  const { name } = node.parent as { name?: ts.Node }
  return name !== node && !ts.isPartOfTypeNode(node)
}

function visit(node: ts.Node, callback: (node: ts.Node) => void): void {
  callback(node)
  ts.forEachChild(node, (child) => visit(child, callback))
}
