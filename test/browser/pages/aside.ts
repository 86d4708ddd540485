import { asideCases } from '../aside-cases.ts'
import { runCases } from '../in-page.ts'

// A page that is still loading is not kept, and what a module awaits is part of that.
addEventListener('load', () => void setTimeout(() => runCases(asideCases)))
