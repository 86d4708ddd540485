import type { ModelDefinitions } from '../models/models.ts'
import type { RecordOf, TypeName } from '../models/record-of.ts'
import type { DataRecord } from '../replica/record.ts'

/** The names of the types: those that the models declare, or any. */
export type NameOf<M extends ModelDefinitions> = string extends keyof M ? string : TypeName<M>

/** A record of the type `T`, by its model where there is one. */
export type RecordFor<M extends ModelDefinitions, T extends NameOf<M>> = string extends keyof M
  ? DataRecord
  : T extends TypeName<M>
    ? RecordOf<M, T>
    : never
