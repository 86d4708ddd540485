export declare function searchKey(name: string): string
