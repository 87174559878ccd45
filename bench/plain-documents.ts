// The plain side of the benchmark of documents: one table, one conditional UPDATE, no history.

export const plainDocuments = `drop table if exists plain_document;
create table plain_document (id uuid primary key, version int4 not null, content text not null)`;

export const plainSave = {
  name: 'plain save',
  text: `update plain_document set version = version + 1, content = $3
    where id = $1 and version = $2 returning version`,
};
