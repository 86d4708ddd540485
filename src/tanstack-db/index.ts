export {
  type InstepCollectionConfig,
  type InstepCollectionOptions,
  instepCollectionOptions,
} from './collection-options.ts'
export { type CollectionTransaction, type InstepUtils, instepMutationFn } from './mutation-fn.ts'
