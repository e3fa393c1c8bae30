/**
 * Whether programs compile for users of the package.
 *
 * @module
 */
import ts from 'typescript'
import type { Consumer } from './consumer.js'

/** What the compiler says against these files of the project in strict mode. */
export function typeFaultsOf({ folder }: Consumer, files: readonly string[]): string[] {
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [`${folder}/node_modules/@types`],
  })
  const faults = ts.getPreEmitDiagnostics(program)
  return faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
