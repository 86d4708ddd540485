export declare function findPython(): string | undefined
